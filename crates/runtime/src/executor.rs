//! Runs one program on its devices.

use backend::{Backend, BackendError, Window};
use compile::{Program, ProgramOutput};
use graph::Extents;

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
) -> Result<(), BackendError> {
    assert!(extents.within(&program.capacity), "{extents:?} is beyond {:?}", program.capacity);
    for split in &program.splits {
        for copy in &split.copies {
            staging.resize(copy.shape.bytes(copy.dtype, extents), 0);
            read(devices, copy.from_device.0, copy.from, staging)?;
            devices[split.device.0].write(copy.to, staging)?;
        }
        devices[split.device.0].run(&split.calls, extents)?;
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

fn read(
    devices: &mut [Box<dyn Backend>],
    device: usize,
    window: Window,
    bytes: &mut [u8],
) -> Result<(), BackendError> {
    devices[device].synchronize()?;
    devices[device].read(window, bytes)
}
