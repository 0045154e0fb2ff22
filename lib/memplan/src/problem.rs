//! What is to be planned: spaces, values and steps, as plain data.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into the table it belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index` of its table.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has fewer than 2^32 entries"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "#{}", self.0)
            }
        }
    };
}

id!(
    /// Index of a value in [`Problem::values`].
    ValueId
);
id!(
    /// Index of a step in [`Problem::steps`], which is also its position in the order of execution.
    StepId
);
id!(
    /// Index of a space in [`Problem::spaces`].
    SpaceId
);
id!(
    /// Index of a storage in [`Plan::storages`](crate::Plan::storages).
    StorageId
);

/// An id with the name it has in the problem, so that an error can be read without the problem at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<Id> {
    /// Index in the table it belongs to.
    pub id: Id,
    /// Name as the problem gives it.
    pub name: String,
}

impl<Id: fmt::Display> fmt::Display for Named<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.name, self.id)
    }
}

/// One range of bytes that starts at offset 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Name for errors and pictures.
    pub name: String,
    /// Every storage starts at a multiple of this and fills whole multiples of it. A power of two, in bytes.
    pub align: u64,
    /// Largest size that the space may have, in bytes; `None` for no limit.
    pub limit: Option<u64>,
}

/// What holds a value in memory beside its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pin {
    /// Nothing: the value lives from its write to its last read.
    #[default]
    None,
    /// Filled from outside before step 0 and kept to the end; never overwritten in place, never recycled.
    Input,
    /// Read from outside after the last step: lives from its write to the end.
    Output,
    /// A window of its own for the whole run, outside all recycling; filled by one step or from outside.
    Fresh,
    /// State that outlives the run: in memory before the first step and after the last, in a window of its own that is
    /// never recycled and never shared. Any number of steps may write it and read it, in any order, and one step may do
    /// both; a step that writes it may leave some of its bytes as they were.
    Persistent,
    /// Working memory of the step that lists it among its writes: lives for that step, whether or not it is read.
    Scratch,
}

/// The window of another value that a view looks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The value that is looked into; it may be a view itself.
    pub parent: ValueId,
    /// Where the view starts, in bytes from the start of the parent.
    pub offset: u64,
}

/// A number of bytes that is made once, or kept for good ([`Pin::Persistent`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Name for errors and pictures.
    pub name: String,
    /// Size in bytes; 0 is allowed.
    pub bytes: u64,
    /// The space it lives in; a view lives in its parent's space.
    pub space: SpaceId,
    /// What holds it beside its readers. A view can be [`Pin::None`] or [`Pin::Output`].
    pub pin: Pin,
    /// Set when this value is only a name for a window of another.
    pub view_of: Option<View>,
}

impl Value {
    /// A value of its own, with no pin.
    pub fn new(name: impl Into<String>, bytes: u64, space: SpaceId) -> Self {
        Self { name: name.into(), bytes, space, pin: Pin::None, view_of: None }
    }

    /// The same value with another pin.
    pub fn pinned(mut self, pin: Pin) -> Self {
        self.pin = pin;
        self
    }

    /// The same value as a view of `parent`, `offset` bytes after its start.
    pub fn viewing(mut self, parent: ValueId, offset: u64) -> Self {
        self.view_of = Some(View { parent, offset });
        self
    }
}

/// Says that a step may make `write` in the storage of `read`: it reads each byte of `read` before it writes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overwrite {
    /// A value that the step writes.
    pub write: ValueId,
    /// A value that the step reads.
    pub read: ValueId,
}

/// One piece of work. All its reads and writes are in use at the same time.
///
/// A step may list a view among its writes: that says which step makes the view (so that no read of it comes before),
/// and moves no bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Name for errors and pictures.
    pub name: String,
    /// The operands; a value listed twice is two operands.
    pub reads: Vec<ValueId>,
    /// The results. A value is written by at most one step, unless it is [`Pin::Persistent`].
    pub writes: Vec<ValueId>,
    /// Which writes may take the storage of which reads.
    pub overwrites: Vec<Overwrite>,
}

impl Step {
    /// A step without the right to overwrite anything.
    pub fn new(
        name: impl Into<String>,
        reads: impl IntoIterator<Item = ValueId>,
        writes: impl IntoIterator<Item = ValueId>,
    ) -> Self {
        Self {
            name: name.into(),
            reads: reads.into_iter().collect(),
            writes: writes.into_iter().collect(),
            overwrites: Vec::new(),
        }
    }

    /// The same step with one more right to overwrite.
    pub fn overwriting(mut self, overwrite: Overwrite) -> Self {
        self.overwrites.push(overwrite);
        self
    }
}

/// A program as the planner sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problem {
    /// Where values can live.
    pub spaces: Vec<Space>,
    /// What is to be placed.
    pub values: Vec<Value>,
    /// What happens, in order of execution.
    pub steps: Vec<Step>,
}

impl Problem {
    /// Appends a space and returns its id.
    pub fn add_space(&mut self, space: Space) -> SpaceId {
        self.spaces.push(space);
        SpaceId::new(self.spaces.len() - 1)
    }

    /// Appends a value and returns its id.
    pub fn add_value(&mut self, value: Value) -> ValueId {
        self.values.push(value);
        ValueId::new(self.values.len() - 1)
    }

    /// Appends a step, to be executed after all others, and returns its id.
    pub fn add_step(&mut self, step: Step) -> StepId {
        self.steps.push(step);
        StepId::new(self.steps.len() - 1)
    }
}
