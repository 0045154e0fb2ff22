//! Runs one program on its devices.

use backend::{Backend, BackendError, Window};
use compile::{Program, ProgramOutput, Split};
use graph::Extents;

use crate::{RuntimeError, verify};

/// Comes before the inputs are filled: makes the arenas ready for checks, if the program has them.
pub(crate) fn begin(devices: &mut [Box<dyn Backend>], program: &Program) -> Result<(), BackendError> {
    program.lives.as_ref().map_or(Ok(()), |lives| verify::begin(devices, program, lives))
}

/// Fills an input on every device that reads it. An input that the program does not read is skipped.
pub(crate) fn write_input(
    devices: &mut [Box<dyn Backend>],
    program: &Program,
    name: &str,
    bytes: &[u8],
) -> Result<(), BackendError> {
    let Some(input) = program.input(name) else { return Ok(()) };
    for (device, window) in &input.windows {
        devices[device.0].write(*window, bytes)?;
    }
    Ok(())
}

/// Runs every split in order: first what must come from other devices, then its calls.
pub(crate) fn run(
    devices: &mut [Box<dyn Backend>],
    program: &Program,
    extents: &Extents,
    staging: &mut Vec<u8>,
) -> Result<(), RuntimeError> {
    assert!(extents.within(&program.capacity), "{extents:?} is beyond {:?}", program.capacity);
    if let Some(lives) = &program.lives {
        return verify::run(devices, program, lives, extents, staging);
    }
    for split in &program.splits {
        bring(devices, split, extents, staging)?;
        devices[split.device.0].run(&split.calls, extents)?;
    }
    Ok(())
}

/// Copies what a split reads and another device wrote.
pub(crate) fn bring(
    devices: &mut [Box<dyn Backend>],
    split: &Split,
    extents: &Extents,
    staging: &mut Vec<u8>,
) -> Result<(), BackendError> {
    for copy in &split.copies {
        staging.resize(copy.shape.bytes(copy.dtype, extents), 0);
        read(devices, copy.from_device.0, copy.from, staging)?;
        devices[split.device.0].write(copy.to, staging)?;
    }
    Ok(())
}

/// Reads the start of an output.
pub(crate) fn read_output(
    devices: &mut [Box<dyn Backend>],
    output: &ProgramOutput,
    into: &mut [u8],
) -> Result<(), BackendError> {
    read(devices, output.device.0, output.window, into)
}

/// Reads the start of a window, after all that was submitted to its device.
pub(crate) fn read(
    devices: &mut [Box<dyn Backend>],
    device: usize,
    window: Window,
    bytes: &mut [u8],
) -> Result<(), BackendError> {
    devices[device].synchronize()?;
    devices[device].read(window, bytes)
}
