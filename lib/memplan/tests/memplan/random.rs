//! Random problems that are always valid: chains and branches, views, rights to overwrite, several spaces, all pins.

use arbtest::arbitrary::{Result, Unstructured};
use memplan::{Overwrite, Pin, Problem, Space, SpaceId, Step, Value, ValueId};

/// Sizes on both sides of alignments and of size classes.
const SIZES: [u64; 9] = [0, 1, 60, 64, 100, 1000, 4096, 20_000, 40_000];
/// Sizes that can be walked byte by byte.
const SMALL_SIZES: [u64; 7] = [0, 1, 16, 60, 64, 100, 200];

/// Random bytes that depend on the seed alone, more than a problem and a fault in it take.
pub fn noise(seed: u64) -> Vec<u8> {
    let word = |n: u64| {
        // The finalizer of splitmix64.
        let mut x = (seed.wrapping_mul(1 << 20) + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)).to_le_bytes()
    };
    (0..512).flat_map(word).collect()
}

/// A valid problem of up to about forty values.
pub fn problem(u: &mut Unstructured<'_>) -> Result<Problem> {
    Maker::new(u, &SIZES).problem()
}

/// A valid problem of small values.
pub fn small_problem(u: &mut Unstructured<'_>) -> Result<Problem> {
    Maker::new(u, &SMALL_SIZES).problem()
}

struct Maker<'a, 'b> {
    u: &'a mut Unstructured<'b>,
    sizes: &'static [u64],
    p: Problem,
    /// What can be read from the next step on.
    ready: Vec<ValueId>,
}

impl<'a, 'b> Maker<'a, 'b> {
    fn new(u: &'a mut Unstructured<'b>, sizes: &'static [u64]) -> Self {
        Self { u, sizes, p: Problem::default(), ready: Vec::new() }
    }

    fn problem(mut self) -> Result<Problem> {
        for i in 0..self.u.int_in_range(1..=3)? {
            let align = *self.u.choose(&[1, 16, 64, 256])?;
            self.p.add_space(Space { name: format!("space {i}"), align, limit: None });
        }
        for _ in 0..self.u.int_in_range(0..=4)? {
            let pin = *self.u.choose(&[Pin::Input, Pin::Fresh, Pin::Persistent])?;
            let filled = self.value(&[])?;
            self.p.values[filled.index()].pin = pin;
            self.ready.push(filled);
        }
        for s in 0..self.u.int_in_range(1..=20)? {
            if self.u.arbitrary()? {
                let ready = self.ready.clone();
                let view = self.view(&ready)?;
                self.ready.extend(view);
            }
            self.step(s)?;
        }
        Ok(self.p)
    }

    fn step(&mut self, s: usize) -> Result<()> {
        let mut reads = Vec::new();
        for _ in 0..self.u.int_in_range(0..=3)? {
            if !self.ready.is_empty() {
                // Mostly what was made lately, so that lives end and storages are taken over.
                let recent = if self.u.ratio(3, 4)? { self.ready.len().saturating_sub(4) } else { 0 };
                reads.push(*self.u.choose(&self.ready[recent..])?);
            }
        }
        let mut writes = Vec::new();
        for _ in 0..self.u.int_in_range(0..=2)? {
            let write = self.value(&reads)?;
            let pins = [
                Pin::None,
                Pin::None,
                Pin::None,
                Pin::None,
                Pin::None,
                Pin::Output,
                Pin::Fresh,
                Pin::Scratch,
            ];
            self.p.values[write.index()].pin = *self.u.choose(&pins)?;
            writes.push(write);
        }
        let made = writes.len();
        let persistent: Vec<ValueId> = (0..self.p.values.len())
            .filter(|&v| self.p.values[v].pin == Pin::Persistent)
            .map(ValueId::new)
            .collect();
        for region in persistent {
            if self.u.ratio(1, 6)? {
                writes.push(region);
            }
        }
        let mut step = Step::new(format!("s{s}"), reads.iter().copied(), writes.iter().copied());
        for &write in &writes {
            for &read in &reads {
                if self.u.ratio(3, 4)? {
                    step = step.overwriting(Overwrite { write, read });
                }
            }
        }
        self.ready.extend(&writes[..made]);
        // Some views are made by a step, the others just exist.
        if self.u.ratio(1, 4)?
            && let Some(view) = self.view(&reads)?
        {
            step.writes.push(view);
            self.ready.push(view);
        }
        self.p.add_step(step);
        Ok(())
    }

    /// A value of its own, often of the size, or a little less, and in the space of something that its step reads.
    fn value(&mut self, like: &[ValueId]) -> Result<ValueId> {
        let mut bytes = *self.u.choose(self.sizes)?;
        let mut space = SpaceId(self.u.int_in_range(0..=self.p.spaces.len() as u32 - 1)?);
        if !like.is_empty() && self.u.ratio(3, 4)? {
            let like = &self.p.values[self.u.choose(like)?.index()];
            (bytes, space) = (like.bytes, like.space);
            if self.u.ratio(1, 6)? {
                bytes /= 3;
            }
        }
        let name = format!("v{}", self.p.values.len());
        Ok(self.p.add_value(Value::new(name, bytes, space)))
    }

    /// A view of something, half of them over all of it, sometimes an output.
    fn view(&mut self, of: &[ValueId]) -> Result<Option<ValueId>> {
        if of.is_empty() {
            return Ok(None);
        }
        let parent = *self.u.choose(of)?;
        let Value { bytes: parent_bytes, space, .. } = self.p.values[parent.index()];
        let (mut offset, mut bytes) = (0, parent_bytes);
        if self.u.ratio(1, 2)? {
            offset = self.u.int_in_range(0..=parent_bytes)?;
            bytes = self.u.int_in_range(0..=parent_bytes - offset)?;
        }
        let pin = if self.u.ratio(1, 10)? { Pin::Output } else { Pin::None };
        let name = format!("view v{}", self.p.values.len());
        Ok(Some(self.p.add_value(Value::new(name, bytes, space).viewing(parent, offset).pinned(pin))))
    }
}
