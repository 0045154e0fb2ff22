//! What a program tells about its windows, for runs that check the plan against what really happens.

use graph::NodeId;
use memplan::{Pin, Problem};
use serde::Serialize;

use crate::{DeviceId, MemoryPlan};

/// What is to be found out while a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Nothing: the program is what ships.
    #[default]
    Off,
    /// Reads of bytes that nobody wrote, and of values past their life, on the plan that ships.
    Poison,
    /// The same on a plan with guard bytes before and behind every value, which also finds writes past a window.
    Guards,
}

/// The storages of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lives {
    /// In the order in which they begin.
    pub storages: Vec<Life>,
}

/// A window and the calls during which it belongs to some values. Calls are counted over all splits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Life {
    /// Each value in it: the call that writes it (0 if it is filled from outside) and its name, in that order.
    pub values: Vec<(usize, String)>,
    /// Where.
    pub device: DeviceId,
    /// Its first byte in the arena.
    pub offset: usize,
    /// Bytes before the values: guards.
    pub before: usize,
    /// Bytes of the largest value.
    pub bytes: usize,
    /// Bytes behind it: guards, and what fills the last unit of alignment.
    pub behind: usize,
    /// The call that writes it first; `None` if it is filled from outside.
    pub first: Option<usize>,
    /// The call that reads it last; `None` if it is kept to the end.
    pub last: Option<usize>,
}

impl Life {
    /// True while a call runs that may touch it.
    pub fn holds_at(&self, call: usize) -> bool {
        self.first.is_none_or(|first| first <= call) && self.last.is_none_or(|last| call <= last)
    }

    /// The value that is in it while a call runs.
    pub fn value_at(&self, call: usize) -> &str {
        let written = self.values.iter().rfind(|(writer, _)| *writer <= call);
        &written.or(self.values.first()).expect("a storage has a value").1
    }
}

/// The lives of a plan's storages, in terms of the calls of `nodes`.
pub(crate) fn lives(memory: &MemoryPlan, nodes: &[NodeId]) -> Lives {
    let (problem, plan) = (&memory.problem, &memory.plan);
    let writers = writers(problem);
    let call = |step: u32| nodes.binary_search(&NodeId(step)).expect("lives begin and end at calls");
    let storages = plan.storages.iter().map(|storage| {
        let members = || storage.members.iter().map(|v| (v.index(), &problem.values[v.index()]));
        let pinned = |pin: Pin| members().any(|(_, v)| v.pin == pin);
        let outside = pinned(Pin::Input) || pinned(Pin::Fresh);
        let own = || members().filter(|(_, v)| v.view_of.is_none());
        let mut values: Vec<_> = own().map(|(i, v)| (writers[i].map_or(0, call), v.name.clone())).collect();
        values.sort_by_key(|(writer, _)| *writer);
        let margin = memory.margin(storage.space);
        let bytes = own().map(|(_, v)| v.bytes).max().expect("a storage has a value") - 2 * margin;
        Life {
            values,
            device: DeviceId(storage.space.index()),
            offset: storage.offset as usize,
            before: margin as usize,
            bytes: bytes as usize,
            behind: (storage.bytes - margin - bytes) as usize,
            first: (!outside).then(|| call(storage.first)),
            last: (!outside && !pinned(Pin::Output)).then(|| call(storage.last)),
        }
    });
    Lives { storages: storages.collect() }
}

/// The step that writes each value, if one does.
fn writers(problem: &Problem) -> Vec<Option<u32>> {
    let mut writers = vec![None; problem.values.len()];
    for (step, writes) in (0u32..).zip(problem.steps.iter().map(|s| &s.writes)) {
        writes.iter().for_each(|v| writers[v.index()] = Some(step));
    }
    writers
}
