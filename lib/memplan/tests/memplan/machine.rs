//! Runs a plan on real memory: every step writes bytes that tell whose they are, and looks at what it reads.
//!
//! Unlike the checker it keeps no map of owners and knows no rule about overlap. It is slow, and sees only bytes that are
//! really destroyed.

use std::collections::HashMap;

use memplan::{Pin, Placement, Plan, Problem, ValueId};

use crate::definition::root;

/// Runs the program twice, as an engine would, and says what went wrong first.
pub fn run(problem: &Problem, plan: &Plan) -> Result<(), String> {
    let memory = plan.spaces.iter().map(|space| vec![0; space.bytes as usize]).collect();
    let mut machine = Machine { problem, plan, memory, version: HashMap::new() };
    machine.fill(Pin::Persistent)?;
    for _ in 0..2 {
        machine.fill(Pin::Input)?;
        machine.fill(Pin::Fresh)?;
        for s in 0..problem.steps.len() {
            machine.step(s)?;
        }
        for v in machine.values(|pin| !matches!(pin, Pin::None | Pin::Scratch)) {
            machine.expect(v, "after the run")?;
        }
    }
    Ok(())
}

struct Machine<'a> {
    problem: &'a Problem,
    plan: &'a Plan,
    memory: Vec<Vec<u32>>,
    /// How often a value was written.
    version: HashMap<ValueId, u32>,
}

impl Machine<'_> {
    fn values(&self, has: impl Fn(Pin) -> bool) -> Vec<ValueId> {
        (0..self.problem.values.len())
            .map(ValueId::new)
            .filter(|v| has(self.problem.values[v.index()].pin))
            .collect()
    }

    /// Fills all values with this pin that no step writes, from outside.
    fn fill(&mut self, pin: Pin) -> Result<(), String> {
        let is_written = |v: &ValueId| self.problem.steps.iter().any(|step| step.writes.contains(v));
        let filled: Vec<ValueId> = self
            .values(|other| other == pin)
            .into_iter()
            .filter(|v| pin == Pin::Persistent || !is_written(v))
            .collect();
        filled.iter().for_each(|&v| self.renew(v));
        filled.iter().try_for_each(|&v| self.expect(v, "before the run"))
    }

    fn window(&self, v: ValueId) -> Option<(usize, Placement)> {
        Some((self.problem.values[v.index()].space.index(), *self.plan.placement(v)?))
    }

    fn version(&self, v: ValueId) -> u32 {
        self.version.get(&root(self.problem, v).0).copied().unwrap_or(0)
    }

    /// What byte `at` of a value holds. The numbers differ for all values, versions and places that a small problem has.
    fn content(&self, v: ValueId, at: u64, version: u32) -> u32 {
        let (root, offset) = root(self.problem, v);
        1 + (((root.0 << 7) | version) << 8) + (offset + at) as u32
    }

    fn put(&mut self, v: ValueId, at: u64, version: u32) {
        let content = self.content(v, at, version);
        if let Some((space, placement)) = self.window(v) {
            self.memory[space][(placement.offset + at) as usize] = content;
        }
    }

    /// Writes the next version of a value.
    fn renew(&mut self, v: ValueId) {
        let next = self.version(v) + 1;
        (0..self.problem.values[v.index()].bytes).for_each(|at| self.put(v, at, next));
        self.version.insert(v, next);
    }

    fn holds(&self, v: ValueId, at: u64) -> bool {
        let Some((space, placement)) = self.window(v) else { return false };
        self.memory[space][(placement.offset + at) as usize] == self.content(v, at, self.version(v))
    }

    fn expect(&self, v: ValueId, when: &str) -> Result<(), String> {
        if self.window(v).is_none() {
            return Err(format!("{v} is nowhere {when}"));
        }
        match (0..self.problem.values[v.index()].bytes).find(|&at| !self.holds(v, at)) {
            Some(at) => Err(format!("{v} has lost byte {at} {when}")),
            None => Ok(()),
        }
    }

    fn step(&mut self, s: usize) -> Result<(), String> {
        let step = &self.problem.steps[s];
        let is_view = |v: &ValueId| self.problem.values[v.index()].view_of.is_some();
        let writes: Vec<ValueId> = step.writes.iter().copied().filter(|w| !is_view(w)).collect();
        step.reads.iter().try_for_each(|&read| self.expect(read, &format!("at step {s}")))?;
        if let Some(w) = writes
            .iter()
            .find(|w| self.problem.values[w.index()].pin == Pin::Scratch && self.window(**w).is_none())
        {
            return Err(format!("{w} is nowhere at step {s}"));
        }
        let placed: Vec<ValueId> = writes.iter().copied().filter(|&w| self.window(w).is_some()).collect();
        // Each result alone, in the order that an elementwise step goes in.
        for &w in &placed {
            let before = self.memory.clone();
            self.write_alone(s, w)?;
            self.memory = before;
        }
        // Then all, which must not touch each other.
        writes.iter().for_each(|&w| self.renew(w));
        placed.iter().try_for_each(|&w| self.expect(w, &format!("after step {s}")))
    }

    /// Writes byte after byte; just before it, the same byte of what may be overwritten must still be there. What may not be
    /// overwritten must be there after it all.
    fn write_alone(&mut self, s: usize, w: ValueId) -> Result<(), String> {
        let step = &self.problem.steps[s];
        let has_right = |read: &&ValueId| step.overwrites.iter().any(|o| o.write == w && o.read == **read);
        let is_itself = |read: &&ValueId| root(self.problem, **read).0 == w;
        let (allowed, others): (Vec<ValueId>, Vec<ValueId>) =
            step.reads.iter().filter(|read| !is_itself(read)).partition(|read| has_right(read));
        let next = self.version(w) + 1;
        for at in 0..self.problem.values[w.index()].bytes {
            let mut reads = allowed.iter().filter(|read| at < self.problem.values[read.index()].bytes);
            if let Some(read) = reads.find(|&&read| !self.holds(read, at)) {
                return Err(format!("step {s} has lost byte {at} of {read} to {w}"));
            }
            self.put(w, at, next);
        }
        others.iter().try_for_each(|&read| self.expect(read, &format!("after step {s} wrote {w}")))
    }
}
