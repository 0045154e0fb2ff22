//! What can be wrong with a plan.

use std::fmt;

use crate::problem::{Named, SpaceId, StepId, StorageId, ValueId};

/// What is wrong with a plan. Offsets are in bytes from the start of the space unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A table of the plan has not one entry for each entry of the problem.
    WrongLength {
        /// Which table of the plan.
        table: &'static str,
        /// Entries in the problem.
        expected: usize,
        /// Entries in the plan.
        found: usize,
    },
    /// Something names an entry that does not exist, or parents of views form a circle.
    UnknownId {
        /// What the id is.
        what: &'static str,
        /// The id.
        id: u32,
        /// How many there are.
        count: usize,
    },
    /// The alignment of a space is not a power of two.
    BadAlignment {
        /// The space.
        space: SpaceId,
        /// Its alignment in bytes.
        align: u64,
    },
    /// A placement has another size than its value.
    WrongSize {
        /// The value.
        value: Named<ValueId>,
        /// Its size.
        expected: u64,
        /// The size of the placement.
        found: u64,
    },
    /// A window does not start at a multiple of the space's alignment.
    Misaligned {
        /// The value.
        value: Named<ValueId>,
        /// Where its window starts.
        offset: u64,
        /// The alignment of its space.
        align: u64,
    },
    /// A window reaches past the end of its space.
    OutsideSpace {
        /// The value.
        value: Named<ValueId>,
        /// Where its window starts.
        offset: u64,
        /// Size of the window.
        bytes: u64,
        /// Size of the space.
        space_bytes: u64,
    },
    /// A space is larger than its limit.
    OverLimit {
        /// The space.
        space: SpaceId,
        /// Its size in the plan.
        bytes: u64,
        /// Its largest size.
        limit: u64,
    },
    /// A view reaches past the end of its parent.
    ViewOutsideParent {
        /// The view.
        value: Named<ValueId>,
        /// Its parent.
        parent: Named<ValueId>,
    },
    /// A view is not where its parent is, or its parent is nowhere.
    ViewMisplaced {
        /// The view.
        value: Named<ValueId>,
        /// Its parent.
        parent: Named<ValueId>,
        /// Where the view must start; `None` when its parent has no window.
        expected: Option<u64>,
        /// Where it starts.
        found: u64,
    },
    /// A value that is read, kept to the end, or working memory has no window.
    Unplaced {
        /// The value.
        value: Named<ValueId>,
        /// The step that reads it or works in it; `None` when it is needed after the last step.
        reader: Option<Named<StepId>>,
    },
    /// The window of a fresh or persistent value, or of an input before the first step, is not its own.
    Shared {
        /// The value.
        value: Named<ValueId>,
        /// What else lies there.
        other: Named<ValueId>,
        /// The first byte in common.
        offset: u64,
    },
    /// A step writes an input, or a value that was written before and is not persistent.
    Rewritten {
        /// The value.
        value: Named<ValueId>,
        /// The step that writes it again.
        step: Named<StepId>,
    },
    /// A read finds bytes that are not those of the value.
    Lost {
        /// The value.
        value: Named<ValueId>,
        /// The step that reads it; `None` after the last step.
        reader: Option<Named<StepId>>,
        /// The first foreign byte.
        offset: u64,
        /// Whose it is; `None` when nobody wrote it.
        owner: Option<Named<ValueId>>,
    },
    /// A step writes over what it reads without the right to.
    Clobbered {
        /// The step.
        step: Named<StepId>,
        /// What it writes.
        write: Named<ValueId>,
        /// What it reads.
        read: Named<ValueId>,
        /// The first byte in common.
        offset: u64,
    },
    /// A step writes two values to the same bytes.
    WritesOverlap {
        /// The step.
        step: Named<StepId>,
        /// One value.
        first: Named<ValueId>,
        /// The other.
        second: Named<ValueId>,
        /// The first byte in common.
        offset: u64,
    },
    /// A storage is misaligned, reaches past its space, ends before it begins, or claims more bytes or steps than its values
    /// need, so that no bound can be told from it.
    BadStorage {
        /// The storage.
        storage: StorageId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A value is not listed, or not inside, the storage that its placement names.
    OutsideStorage {
        /// The value.
        value: Named<ValueId>,
        /// The storage.
        storage: StorageId,
    },
    /// A value is in use at a step at which its storage does not live.
    LifeTooShort {
        /// The value.
        value: Named<ValueId>,
        /// The storage.
        storage: StorageId,
        /// The step.
        step: StepId,
    },
    /// Two storages that live at the same step overlap.
    StoragesOverlap {
        /// One storage.
        first: StorageId,
        /// The other.
        second: StorageId,
        /// A step at which both live.
        step: StepId,
    },
    /// A figure in the report of a space does not follow from the storages.
    WrongReport {
        /// The space.
        space: SpaceId,
        /// Which figure.
        what: &'static str,
        /// What the storages say: bytes, a step, or 1 for yes.
        expected: u128,
        /// What the report says.
        found: u128,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLength { table, expected, found } => {
                write!(f, "table {table}: expected {expected} entries, found {found}")
            }
            Self::UnknownId { what, id, count } => {
                write!(f, "{what} #{id} cannot be resolved, there are {count}")
            }
            Self::BadAlignment { space, align } => {
                write!(f, "space {space}: expected an alignment that is a power of two, found {align}")
            }
            Self::WrongSize { value, expected, found } => {
                write!(f, "value {value} has {expected} bytes, its window {found}")
            }
            Self::Misaligned { value, offset, align } => {
                write!(f, "value {value} starts at {offset}, which is no multiple of {align}")
            }
            Self::OutsideSpace { value, offset, bytes, space_bytes } => write!(
                f,
                "value {value} has {bytes} bytes at {offset}, past the end of its space of {space_bytes} bytes"
            ),
            Self::OverLimit { space, bytes, limit } => {
                write!(f, "space {space} has {bytes} bytes, its limit is {limit}")
            }
            Self::ViewOutsideParent { value, parent } => {
                write!(f, "view {value} reaches past the end of {parent}")
            }
            Self::ViewMisplaced { value, parent, expected: Some(expected), found } => {
                write!(f, "view {value} of {parent} starts at {found}, expected {expected}")
            }
            Self::ViewMisplaced { value, parent, expected: None, found } => {
                write!(f, "view {value} starts at {found}, but its parent {parent} has no window")
            }
            Self::Unplaced { value, reader: Some(reader) } => {
                write!(f, "value {value} is needed by step {reader}, but has no window")
            }
            Self::Unplaced { value, reader: None } => {
                write!(f, "value {value} is pinned, but has no window")
            }
            Self::Shared { value, other, offset } => {
                write!(f, "the window of {value} is not its own: {other} has byte {offset} too")
            }
            Self::Rewritten { value, step } => {
                write!(f, "step {step} writes {value}, which is there already and not persistent")
            }
            Self::Lost { value, reader, offset, owner } => {
                match reader {
                    Some(reader) => write!(f, "step {reader} reads {value}, but byte {offset} ")?,
                    None => write!(f, "{value} must last to the end, but byte {offset} ")?,
                }
                match owner {
                    Some(owner) => write!(f, "belongs to {owner}"),
                    None => write!(f, "was never written"),
                }
            }
            Self::Clobbered { step, write, read, offset } => {
                write!(f, "step {step} writes {write} over its operand {read} at byte {offset}")
            }
            Self::WritesOverlap { step, first, second, offset } => {
                write!(f, "step {step} writes both {first} and {second} at byte {offset}")
            }
            Self::BadStorage { storage, what } => write!(f, "storage {storage} {what}"),
            Self::OutsideStorage { value, storage } => {
                write!(f, "value {value} is not in storage {storage}, which its placement names")
            }
            Self::LifeTooShort { value, storage, step } => {
                write!(f, "value {value} is in use at step {step}, but its storage {storage} is not alive")
            }
            Self::StoragesOverlap { first, second, step } => {
                write!(f, "storages {first} and {second} overlap and are both alive at step {step}")
            }
            Self::WrongReport { space, what, expected, found } => {
                write!(f, "report of space {space}, {what}: expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for Fault {}
