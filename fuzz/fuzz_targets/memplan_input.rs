//! Problems made of any bytes. Half of them are sound by the way they are made, since nonsense is refused at once; in the
//! others any number can be any number.

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use memplan::{Options, Overwrite, Pin, Problem, Space, SpaceId, Step, Strategy, Value, ValueId, View};

const STRATEGIES: [Strategy; 4] =
    [Strategy::Naive, Strategy::SizeClass, Strategy::BestFit, Strategy::Packed];
const PINS: [Pin; 6] = [Pin::None, Pin::Input, Pin::Output, Pin::Fresh, Pin::Persistent, Pin::Scratch];

/// Numbers out of the fuzzer's bytes.
pub struct Source<'a, 'b> {
    pub u: &'a mut Unstructured<'b>,
    /// Whether a number is now and then out of its range.
    pub is_wild: bool,
}

impl Source<'_, '_> {
    fn is_nonsense(&mut self) -> Result<bool> {
        Ok(self.is_wild && self.u.ratio(1, 50)?)
    }

    /// One of `count` indices; of none, index 0.
    pub fn index(&mut self, count: usize) -> Result<u32> {
        if self.is_nonsense()? {
            return self.u.arbitrary();
        }
        self.u.int_in_range(0..=count.max(1) as u32 - 1)
    }

    /// A size or an offset.
    pub fn bytes(&mut self) -> Result<u64> {
        if self.is_nonsense()? { self.u.arbitrary() } else { self.u.int_in_range(0..=40_000) }
    }

    /// A problem; if the source is wild, one that may contradict itself.
    pub fn problem(&mut self) -> Result<Problem> {
        let mut p = Problem::default();
        for _ in 0..self.u.int_in_range(1..=2)? {
            let align =
                if self.is_nonsense()? { self.u.arbitrary()? } else { 1 << self.u.int_in_range(0..=8)? };
            let limit = if self.u.ratio(1, 4)? { Some(self.bytes()?) } else { None };
            p.add_space(Space { name: "space".into(), align, limit });
        }
        let steps = self.u.int_in_range(1..=24)?;
        let count = self.u.int_in_range(0..=40)?;
        let mut writes = vec![Vec::new(); steps];
        for v in 0..count {
            let value = self.value(&p, v)?;
            let is_filled = matches!(value.pin, Pin::Input | Pin::Persistent) || value.view_of.is_some();
            // In the order of the values, so that readers come later.
            let step = v * steps / count;
            if !is_filled && !self.is_nonsense()? {
                writes[step].push(ValueId::new(v));
            } else if value.pin == Pin::Persistent || self.is_nonsense()? {
                writes[self.u.choose_index(steps)?].push(ValueId::new(v));
            }
            p.add_value(value);
        }
        for (s, writes) in writes.into_iter().enumerate() {
            let step = self.step(s * count / steps, writes)?;
            p.add_step(step);
        }
        Ok(p)
    }

    fn value(&mut self, p: &Problem, v: usize) -> Result<Value> {
        let mut value = Value::new("value", self.bytes()?, SpaceId(self.index(p.spaces.len())?));
        if v > 0 && self.u.ratio(1, 4)? {
            let parent = ValueId(self.index(v)?);
            let mut offset = if self.u.arbitrary()? { 0 } else { self.bytes()? };
            if let Some(of) = p.values.get(parent.index()).filter(|_| !self.is_wild) {
                offset = offset.min(of.bytes);
                (value.space, value.bytes) = (of.space, value.bytes.min(of.bytes - offset));
            }
            value.view_of = Some(View { parent, offset });
            value.pin = if self.u.ratio(1, 8)? { Pin::Output } else { Pin::None };
        } else {
            if let Some(like) = p.values.last().filter(|_| v % 3 > 0) {
                // Many of one size, so that results can take over operands.
                (value.space, value.bytes) = (like.space, like.bytes);
            }
            if self.u.arbitrary()? {
                value.pin = *self.u.choose(&PINS)?;
            }
        }
        Ok(value)
    }

    /// A step that reads some of the first `ready` values.
    fn step(&mut self, ready: usize, writes: Vec<ValueId>) -> Result<Step> {
        let mut reads = Vec::new();
        for _ in 0..self.u.int_in_range(0..=3)? {
            if ready > 0 || self.is_wild {
                let back = self.index(ready.min(6))?;
                reads.push(ValueId((ready as u32).saturating_sub(1).wrapping_sub(back)));
            }
        }
        let mut step = Step::new("step", reads.iter().copied(), writes.iter().copied());
        for &write in &writes {
            for &read in &reads {
                if self.u.ratio(3, 4)? {
                    step = step.overwriting(Overwrite { write, read });
                }
            }
        }
        Ok(step)
    }

    /// What the planner may do.
    pub fn options(&mut self) -> Result<Options> {
        Ok(Options { strategy: *self.u.choose(&STRATEGIES)?, in_place: self.u.ratio(7, 8)? })
    }
}
