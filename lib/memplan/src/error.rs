//! Why a problem has no plan.

use std::fmt;

use crate::budget::OverBudget;
use crate::problem::{Named, SpaceId, StepId, ValueId};

/// Why a problem has no plan: it contradicts itself, or it does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// A table of the problem has more entries than an id can count.
    TooMany {
        /// Which table.
        table: &'static str,
        /// Its entries.
        count: usize,
    },
    /// The alignment of a space is not a power of two.
    BadAlignment {
        /// The space.
        space: Named<SpaceId>,
        /// Its alignment in bytes.
        align: u64,
    },
    /// A value names a space that does not exist.
    UnknownSpace {
        /// The value.
        value: Named<ValueId>,
        /// What it names.
        space: SpaceId,
        /// How many spaces there are.
        count: usize,
    },
    /// A view names a parent that does not exist.
    UnknownParent {
        /// The view.
        value: Named<ValueId>,
        /// What it names.
        parent: ValueId,
        /// How many values there are.
        count: usize,
    },
    /// A step names a value that does not exist.
    UnknownValue {
        /// The step.
        step: Named<StepId>,
        /// What it names.
        value: ValueId,
        /// How many values there are.
        count: usize,
    },
    /// A step lets a value be overwritten that it does not read, or by one that it does not write.
    UnrelatedOverwrite {
        /// The step.
        step: Named<StepId>,
        /// The result named.
        write: Named<ValueId>,
        /// The operand named.
        read: Named<ValueId>,
    },
    /// Following the parents of a view leads back to it.
    ViewCycle {
        /// One of the views.
        value: Named<ValueId>,
    },
    /// A view reaches past the end of its parent.
    ViewOutsideParent {
        /// The view.
        value: Named<ValueId>,
        /// Its parent.
        parent: Named<ValueId>,
        /// Where the view starts in the parent, in bytes.
        offset: u64,
        /// Size of the view.
        bytes: u64,
        /// Size of the parent.
        parent_bytes: u64,
    },
    /// A view claims to live in another space than its parent.
    ViewInOtherSpace {
        /// The view.
        value: Named<ValueId>,
        /// The space it names.
        space: Named<SpaceId>,
        /// The space of its parent.
        parent_space: Named<SpaceId>,
    },
    /// A view has a pin other than [`Pin::Output`](crate::Pin::Output); such a pin belongs on the value that it looks into.
    ViewPinned {
        /// The view.
        value: Named<ValueId>,
    },
    /// A step writes an input, which is filled before step 0 and never overwritten.
    InputWritten {
        /// The input.
        value: Named<ValueId>,
        /// The step.
        step: Named<StepId>,
    },
    /// Two steps write the same value, or one step writes it twice.
    WrittenTwice {
        /// The value.
        value: Named<ValueId>,
        /// The step that writes it first.
        first: Named<StepId>,
        /// The step that writes it again.
        second: Named<StepId>,
    },
    /// A value is read at or before the step that writes it: a cycle, or an order that is not one of execution.
    ReadBeforeWrite {
        /// The value.
        value: Named<ValueId>,
        /// The step that reads it.
        reader: Named<StepId>,
        /// The step that writes it, or the value that it looks into.
        writer: Named<StepId>,
    },
    /// A value is needed, but no step writes it and it is not filled from outside.
    NeverWritten {
        /// The value, or the one that it looks into.
        value: Named<ValueId>,
        /// The first step that reads it; `None` when it is an output that no step reads.
        reader: Option<Named<StepId>>,
    },
    /// The sizes of a space's values do not add up within 64 bits.
    Overflow {
        /// The space.
        space: Named<SpaceId>,
    },
    /// The plan of a space is larger than the space may be; the first such space.
    OverBudget(Box<OverBudget>),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { table, count } => {
                write!(f, "{count} {table}, expected fewer than 2^32")
            }
            Self::BadAlignment { space, align } => {
                write!(f, "space {space}: expected an alignment that is a power of two, found {align}")
            }
            Self::UnknownSpace { value, space, count } => {
                write!(f, "value {value} lives in space {space}, but there are {count} spaces")
            }
            Self::UnknownParent { value, parent, count } => {
                write!(f, "value {value} is a view of value {parent}, but there are {count} values")
            }
            Self::UnknownValue { step, value, count } => {
                write!(f, "step {step} names value {value}, but there are {count} values")
            }
            Self::UnrelatedOverwrite { step, write, read } => write!(
                f,
                "step {step} lets {write} overwrite {read}, but does not write the one and read the other"
            ),
            Self::ViewCycle { value } => write!(f, "value {value} is a view of itself"),
            Self::ViewOutsideParent { value, parent, offset, bytes, parent_bytes } => write!(
                f,
                "view {value} has {bytes} bytes at offset {offset} of {parent}, which has {parent_bytes} bytes"
            ),
            Self::ViewInOtherSpace { value, space, parent_space } => {
                write!(f, "view {value} names space {space}, but its parent lives in {parent_space}")
            }
            Self::ViewPinned { value } => write!(
                f,
                "view {value} has a pin other than output, expected that pin on the value it looks into"
            ),
            Self::InputWritten { value, step } => {
                write!(
                    f,
                    "value {value} is an input, but step {step} writes it (persistent values can be written)"
                )
            }
            Self::WrittenTwice { value, first, second } => {
                write!(f, "value {value} is written by step {first} and again by step {second}")
            }
            Self::ReadBeforeWrite { value, reader, writer } => write!(
                f,
                "value {value} is read by step {reader}, but written by step {writer}, which does not come before"
            ),
            Self::NeverWritten { value, reader: Some(reader) } => write!(
                f,
                "value {value} is read by step {reader}, but no step writes it and it is not an input"
            ),
            Self::NeverWritten { value, reader: None } => {
                write!(f, "value {value} is an output, but no step writes it")
            }
            Self::Overflow { space } => {
                write!(f, "space {space}: the sizes of its values add up to 2^64 bytes or more")
            }
            Self::OverBudget(over) => over.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}
