//! Runs the program on a map of who owns which bytes.
//!
//! The map knows a value by its name, not by its content. That is enough, since no value but a persistent one is written
//! twice; the run insists on that.

use super::ownership::Ownership;
use super::windows::{Window, Windows};
use super::{Fault, step, value};
use crate::problem::{Pin, Problem};

/// Runs all steps in order; the error is the first read that would see foreign bytes, or the first write that has no right
/// to its window.
pub(super) fn run(problem: &Problem, windows: &Windows) -> Result<(), Fault> {
    let mut run = Run { problem, windows, spaces: Vec::new(), writer: writers(problem)? };
    run.spaces.resize_with(problem.spaces.len(), Ownership::default);
    run.fill()?;
    for s in 0..problem.steps.len() {
        run.read(s)?;
        run.check_writes(s)?;
        run.write(s);
    }
    run.finish()
}

struct Run<'a> {
    problem: &'a Problem,
    windows: &'a Windows,
    spaces: Vec<Ownership>,
    /// By value: the step that writes it, the last one if it is persistent.
    writer: Vec<Option<usize>>,
}

fn writers(problem: &Problem) -> Result<Vec<Option<usize>>, Fault> {
    let mut writer: Vec<Option<usize>> = vec![None; problem.values.len()];
    for (s, this) in problem.steps.iter().enumerate() {
        for write in this.writes.iter().map(|write| write.index()) {
            let pin = problem.values[write].pin;
            let before = writer[write].replace(s);
            let is_twice = before.is_some_and(|before| pin != Pin::Persistent || before == s);
            if is_twice || pin == Pin::Input {
                return Err(Fault::Rewritten { value: value(problem, write), step: step(problem, s) });
            }
        }
    }
    Ok(writer)
}

impl Run<'_> {
    /// What is there before the first step owns its window from the start.
    fn fill(&mut self) -> Result<(), Fault> {
        for (i, filled) in self.problem.values.iter().enumerate() {
            let is_filled = match filled.pin {
                Pin::Input | Pin::Persistent => filled.view_of.is_none(),
                // With a writer it is reserved from the start, but not filled.
                Pin::Fresh => filled.view_of.is_none() && self.writer[i].is_none(),
                Pin::None | Pin::Output | Pin::Scratch => false,
            };
            let Some(window) = self.windows.window[i].filter(|_| is_filled) else { continue };
            let space = &mut self.spaces[window.space];
            if let Some((offset, other)) = space.first_owned(window.start, window.end) {
                let (value, other) = (value(self.problem, i), value(self.problem, other));
                return Err(Fault::Shared { value, other, offset });
            }
            space.take(window.start, window.end, i);
        }
        Ok(())
    }

    /// Every operand of a step must be intact over its whole window.
    fn read(&self, s: usize) -> Result<(), Fault> {
        self.problem.steps[s].reads.iter().try_for_each(|read| self.intact(read.index(), Some(s)))
    }

    fn intact(&self, v: usize, reader: Option<usize>) -> Result<(), Fault> {
        let named = value(self.problem, v);
        let reader = reader.map(|s| step(self.problem, s));
        let Some(window) = self.windows.window[v] else {
            return Err(Fault::Unplaced { value: named, reader });
        };
        let root = self.windows.root[v];
        match self.spaces[window.space].first_foreign(window.start, window.end, root) {
            None => Ok(()),
            Some(foreign) => {
                let owner = foreign.owner.map(|owner| value(self.problem, owner));
                Err(Fault::Lost { value: named, reader, offset: foreign.offset, owner })
            }
        }
    }

    /// The values that a step really writes, with their windows: a view is only named, and a dead value goes nowhere.
    fn written(&self, s: usize) -> Vec<(usize, Window)> {
        let writes = self.problem.steps[s].writes.iter().map(|w| w.index());
        let own_bytes = writes.filter(|&w| self.problem.values[w].view_of.is_none());
        own_bytes.filter_map(|w| Some((w, self.windows.window[w]?))).collect()
    }

    /// No write may touch an operand unless the problem allows the pair, both start at the same byte, and the write touches
    /// no other operand; no two writes may touch each other. A persistent value may be read and written by one step.
    fn check_writes(&self, s: usize) -> Result<(), Fault> {
        let this = &self.problem.steps[s];
        if let Some(w) = this.writes.iter().find(|w| self.is_missing_scratch(w.index())) {
            let (value, reader) = (value(self.problem, w.index()), Some(step(self.problem, s)));
            return Err(Fault::Unplaced { value, reader });
        }
        let written = self.written(s);
        for (n, &(w, window)) in written.iter().enumerate() {
            let is_kept = self.problem.values[w].pin == Pin::Persistent;
            let operands = this.reads.iter().filter(|read| !is_kept || self.windows.root[read.index()] != w);
            let touched = operands.filter_map(|read| {
                let operand = self.windows.window[read.index()]?;
                Some((read, operand, window.common(&operand)?))
            });
            for (at, (read, operand, offset)) in touched.enumerate() {
                let allowed = this.overwrites.iter().any(|o| o.write.index() == w && o.read == *read);
                if at > 0 || !allowed || operand.start != window.start {
                    let (write, read) = (value(self.problem, w), value(self.problem, read.index()));
                    return Err(Fault::Clobbered { step: step(self.problem, s), write, read, offset });
                }
            }
            for &(other, other_window) in &written[..n] {
                if let Some(offset) = window.common(&other_window) {
                    let (first, second) = (value(self.problem, other), value(self.problem, w));
                    return Err(Fault::WritesOverlap { step: step(self.problem, s), first, second, offset });
                }
            }
        }
        Ok(())
    }

    /// Scratch is needed even if no step reads it.
    fn is_missing_scratch(&self, v: usize) -> bool {
        self.problem.values[v].pin == Pin::Scratch && self.windows.window[v].is_none()
    }

    fn write(&mut self, s: usize) {
        for (w, window) in self.written(s) {
            self.spaces[window.space].take(window.start, window.end, w);
        }
    }

    /// Whatever is pinned must be intact at the end.
    fn finish(&self) -> Result<(), Fault> {
        let to_the_end = |i: &usize| !matches!(self.problem.values[*i].pin, Pin::None | Pin::Scratch);
        let pinned = (0..self.problem.values.len()).filter(to_the_end);
        pinned.into_iter().try_for_each(|i| self.intact(i, None))
    }
}
