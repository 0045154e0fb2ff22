//! What is drawn, as plain data.

/// A plan of one program's memory, made by one or more strategies.
///
/// Indices that lead nowhere are no error: what they stand for is left out of the picture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// Heading, such as the name of the model.
    pub title: String,
    /// What the plan was made for, a few words a line, such as `512 tokens a batch`.
    pub settings: Vec<String>,
    /// The program, in order of execution.
    pub steps: Vec<Step>,
    /// Where values live.
    pub spaces: Vec<Space>,
    /// What lives. Views are left out; their reads count as reads of the value that they look into.
    pub values: Vec<Value>,
    /// The plans to choose from.
    pub strategies: Vec<Strategy>,
    /// Index in `strategies` of the one that is used: the SVG draws it, the page begins with it.
    pub shown: usize,
    /// Memory beside the spaces that outlives a run.
    pub regions: Vec<Region>,
    /// All memory that is asked for, and what it may be.
    pub budget: Budget,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Name, such as `blk.3.attn_norm`.
    pub name: String,
    /// What kind of operation it is, such as `RmsNorm`.
    pub kind: String,
    /// The layer of the model that it belongs to. Neighbours of one layer make a band.
    pub layer: Option<u32>,
}

/// One range of bytes that starts at offset 0, such as a device's arena.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// Name, such as `cpu`.
    pub name: String,
}

/// A number of bytes that one step makes and later steps read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value {
    /// Name, such as `blk.3.attn_q`.
    pub name: String,
    /// What kind of operation made it; `input` and `scratch` are drawn apart. Gives the colour.
    pub kind: String,
    /// Shape in words, such as `896 x 512`.
    pub shape: String,
    /// Type of the elements in words, such as `f32`.
    pub dtype: String,
    /// Size.
    pub bytes: u64,
    /// Index in [`Picture::spaces`].
    pub space: usize,
    /// Index of the first step at which it is in memory.
    pub first: usize,
    /// Index of the last step at which it is in memory, inclusive.
    pub last: usize,
    /// Index of the value whose window this one may take over, at the step that makes it. It does so in the strategies that give both
    /// the same offset: there the other one is drawn up to that step, and this one from it on.
    pub in_place_of: Option<usize>,
}

/// Where one strategy puts everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strategy {
    /// Name, such as `packed`.
    pub name: String,
    /// By value: bytes from the start of its space; `None` for a value that gets no memory.
    pub offsets: Vec<Option<u64>>,
    /// By space.
    pub spaces: Vec<SpaceUse>,
}

/// What a space needs under a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpaceUse {
    /// Size that the space must have, in bytes.
    pub bytes: u64,
    /// The largest sum of live bytes at any step.
    pub lower_bound: u64,
    /// Whether no plan needs less.
    pub proven: bool,
    /// Index of the step that sets the bound.
    pub bound_step: usize,
    /// Indices of the values that hold memory at that step, the largest first.
    pub bound_values: Vec<usize>,
    /// By step: bytes that live, counted as the bound counts them ([`live_bytes`]).
    pub live: Vec<u64>,
}

/// Memory that is reserved once and kept from run to run, such as a layer's keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Region {
    /// Name.
    pub name: String,
    /// Address space set aside, in bytes.
    pub bytes_reserved: u64,
    /// Memory in use of it, in bytes.
    pub bytes_committed: u64,
    /// Name of the device that it lies on.
    pub device: String,
}

/// What all memory comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// How much there may be, in bytes; `None` when nobody set a limit.
    pub limit: Option<u64>,
    /// What it is made of.
    pub terms: Vec<Term>,
}

/// One part of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Term {
    /// Name, such as `weights`.
    pub label: String,
    /// Size.
    pub bytes: u64,
}

/// The bytes that live at each of `steps` steps, from windows as `(bytes, first step, last step)`, last step inclusive.
/// What lies outside the steps is left out; sums stop at the largest number.
pub fn live_bytes(steps: usize, windows: impl IntoIterator<Item = (u64, usize, usize)>) -> Vec<u64> {
    let mut live = vec![0u64; steps];
    for (bytes, first, last) in windows {
        for sum in live.iter_mut().take(last.saturating_add(1)).skip(first) {
            *sum = sum.saturating_add(bytes);
        }
    }
    live
}
