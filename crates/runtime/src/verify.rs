//! Runs a program call by call and holds its memory plan against what happens.
//!
//! Memory that belongs to no value is filled with a pattern that is no number: before a call writes a storage for
//! the first time, and as soon as the last reader of a storage has run. What is computed from such bytes is no number
//! either, and is found in the result of the call that read them. Guards beside the values hold the same pattern; a
//! call that changes one wrote where it has nothing. Not found: a call that leaves out what it should have written over
//! its operand.

use std::sync::Arc;

use backend::{At, Backend, BackendError, Call, Window};
use compile::{DeviceId, Life, Lives, Program};
use graph::{DType, Extents};

use crate::{RuntimeError, executor};

/// A signalling NaN as f32, no index as i32, and unlikely in any other type.
const POISON: u32 = 0xffa5_a5a5;
/// Bytes of [`POISON`] in a row that cannot be a quantized value by chance.
const UNLIKELY: usize = 4;

/// Comes before the inputs are filled: nothing in the arenas is a value.
pub(crate) fn begin(
    devices: &mut [Box<dyn Backend>],
    program: &Program,
    lives: &Lives,
) -> Result<(), BackendError> {
    for (device, arena) in devices.iter_mut().zip(&program.arenas) {
        poison(device, 0, arena.bytes as usize)?;
    }
    for life in lives.storages.iter().filter(|life| life.first.is_none()) {
        poison_storage(devices, life)?;
    }
    Ok(())
}

/// Runs every call by itself, with its checks.
pub(crate) fn run(
    devices: &mut [Box<dyn Backend>],
    program: &Program,
    lives: &Lives,
    extents: &Extents,
    staging: &mut Vec<u8>,
) -> Result<(), RuntimeError> {
    let mut number = 0;
    for split in &program.splits {
        executor::bring(devices, split, extents, staging)?;
        for call in split.calls.iter() {
            for life in lives.storages.iter().filter(|life| life.first == Some(number)) {
                poison_storage(devices, life)?;
            }
            let alone: Arc<[Call]> = [call.clone()].into();
            devices[split.device.0].run(&alone, extents)?;
            let mut done = Done { devices, lives, call, number, device: split.device, bytes: staging };
            done.check_results(extents)?;
            done.check_guards()?;
            for life in lives.storages.iter().filter(|life| life.last == Some(number)) {
                poison_storage(devices, life)?;
            }
            number += 1;
        }
    }
    Ok(())
}

/// Fills a storage and its guards: nothing in it is a value, or not yet.
fn poison_storage(devices: &mut [Box<dyn Backend>], life: &Life) -> Result<(), BackendError> {
    poison(&mut devices[life.device.0], life.offset, life.before + life.bytes + life.behind)
}

fn poison(device: &mut Box<dyn Backend>, offset: usize, bytes: usize) -> Result<(), BackendError> {
    device.fill(Window { offset, bytes }, POISON.to_ne_bytes())
}

/// A call that was just submitted.
struct Done<'a> {
    devices: &'a mut [Box<dyn Backend>],
    lives: &'a Lives,
    call: &'a Call,
    number: usize,
    device: DeviceId,
    bytes: &'a mut Vec<u8>,
}

impl Done<'_> {
    /// Finds what is no number in what the call wrote.
    fn check_results(&mut self, extents: &Extents) -> Result<(), RuntimeError> {
        for output in &self.call.outputs {
            let At::Arena(window) = output.at else { continue };
            self.read(window.offset, output.bytes(extents))?;
            let columns = output.shape.evaluate(extents)[0];
            let row_bytes = output.dtype.row_bytes(columns).max(1);
            for (row, bytes) in self.bytes.chunks(row_bytes).enumerate() {
                let Some((at, found)) = no_number(output.dtype, columns, bytes) else { continue };
                let of_window = |life: &&Life| {
                    life.device == self.device
                        && life.holds_at(self.number)
                        && (life.offset..life.offset + life.before + life.bytes).contains(&window.offset)
                };
                let life = self.lives.storages.iter().find(of_window).expect("a result is in a storage");
                return Err(RuntimeError::Poisoned {
                    node: self.call.name.clone(),
                    value: life.value_at(self.number).to_owned(),
                    offset: row * row_bytes + at,
                    found,
                });
            }
        }
        Ok(())
    }

    /// Compares the guards of all values that live on the device.
    fn check_guards(&mut self) -> Result<(), RuntimeError> {
        let lives = self.lives;
        let here = |life: &&Life| life.device == self.device && life.holds_at(self.number);
        for life in lives.storages.iter().filter(here).collect::<Vec<_>>() {
            for (first, count) in [(0, life.before), (life.before + life.bytes, life.behind)] {
                self.read(life.offset + first, count)?;
                let pattern = POISON.to_ne_bytes().into_iter().cycle().skip(first % 4);
                let changed = self.bytes.iter().zip(pattern).position(|(found, guard)| *found != guard);
                let Some(at) = changed else { continue };
                return Err(RuntimeError::GuardChanged {
                    node: self.call.name.clone(),
                    value: life.value_at(self.number).to_owned(),
                    offset: life.offset + first + at,
                    expected: POISON.to_ne_bytes()[(first + at) % 4],
                    found: self.bytes[at],
                });
            }
        }
        Ok(())
    }

    fn read(&mut self, offset: usize, bytes: usize) -> Result<(), BackendError> {
        self.bytes.resize(bytes, 0);
        executor::read(self.devices, self.device.0, Window { offset, bytes }, self.bytes)
    }
}

/// The first place in a row that holds no number, and what it holds.
fn no_number(dtype: DType, columns: usize, row: &[u8]) -> Option<(usize, u32)> {
    let words = |from: usize, count: usize| {
        let words = row[from..].as_chunks().0.iter().take(count);
        words.enumerate().map(move |(i, b)| (from + 4 * i, u32::from_ne_bytes(*b)))
    };
    let nan = |(_, bits): &(usize, u32)| f32::from_bits(*bits).is_nan();
    let poison = |(_, bits): &(usize, u32)| *bits == POISON;
    match dtype {
        DType::F32 => words(0, columns).find(nan),
        DType::I32 => words(0, columns).find(poison),
        // Quantized numbers, then the scales and the scaled sums of the blocks.
        DType::A32 => {
            let numbers: Vec<_> = words(0, columns / 4).collect();
            let unwritten = numbers.windows(UNLIKELY).find(|w| w.iter().all(poison));
            let scales = || words(columns, 2 * columns / dtype.block_elements()).find(nan);
            unwritten.map(|w| w[0]).or_else(scales)
        }
        other => unreachable!("no operation writes {other}"),
    }
}
