//! Places lives at offsets so that no two that exist at the same step overlap.

use std::fmt;

use crate::bound::{Bound, lower_bound};
use crate::storages::Draft;

mod baseline;
mod greedy;

mod climb;
mod improve;
mod search;
mod sections;

pub(crate) use baseline::{best_fit, by_class, side_by_side};

/// Something that needs bytes for some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Life {
    /// Size in bytes; it is rounded up to the alignment.
    pub bytes: u64,
    /// First step at which the bytes are in use.
    pub first: u32,
    /// Last step at which they are in use, inclusive.
    pub last: u32,
}

/// What packing may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackOptions {
    /// How many nodes a search may have when no greedy placement reaches the bound; 0 for no search. A node is one life
    /// placed on trial; where more than 512 lives are searched at once, one such trial counts as several nodes.
    /// A million nodes take a few seconds.
    pub nodes: u64,
}

impl Default for PackOptions {
    /// A search of some hundredths of a second at most.
    fn default() -> Self {
        Self { nodes: 1 << 13 }
    }
}

/// What found a packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// First fit, the largest first.
    BySize,
    /// First fit, by size times life.
    ByArea,
    /// First fit, those that live where most bytes are live first.
    ByCrowd,
    /// From below, what can lie lowest first.
    Skyline,
    /// First fit, in order of the first step.
    ByTime,
    /// First fit, the longest life first.
    ByLife,
    /// Best fit into free blocks, in order of the first step.
    BestFit,
    /// One buffer after another, each shared by lives of one size class.
    Buffers,
    /// As by crowd, with repairs of the order.
    RepairedCrowd,
    /// First fit, what ends last first, with repairs of the order.
    RepairedEnd,
    /// The search.
    Search,
}

/// Where every life lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// By life, in bytes, each a multiple of the alignment.
    pub offsets: Vec<u64>,
    /// The bytes needed in all (the peak).
    pub bytes: u64,
    /// The largest sum of live bytes at any step, sizes rounded up: no packing needs less.
    pub lower_bound: u64,
    /// The first step with that sum; 0 when nothing has any bytes.
    pub bound_step: u32,
    /// Whether no packing needs less than this one: because it needs no more than the lower bound, or because the search
    /// has excluded everything better.
    pub proven: bool,
    /// What found it.
    pub method: Method,
    /// Nodes that the search had; 0 when a greedy placement reached the bound.
    pub nodes: u64,
}

/// Why lives cannot be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackError {
    /// The alignment is not a power of two.
    BadAlignment {
        /// The alignment in bytes.
        align: u64,
    },
    /// A life ends before it begins.
    EndsBeforeItBegins {
        /// Its index.
        index: usize,
        /// Its first step.
        first: u32,
        /// Its last step.
        last: u32,
    },
    /// The sizes do not add up within 64 bits.
    Overflow,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadAlignment { align } => {
                write!(f, "expected an alignment that is a power of two, found {align}")
            }
            Self::EndsBeforeItBegins { index, first, last } => {
                write!(f, "life {index} ends at step {last}, before its first step {first}")
            }
            Self::Overflow => write!(f, "the sizes add up to 2^64 bytes or more"),
        }
    }
}

impl std::error::Error for PackError {}

/// Packs lives: greedy placements first, one after another until one reaches the lower bound, and a search when none does.
///
/// The packing depends on the lives, their order, the alignment and the options only.
///
/// ```
/// use memplan::{Life, PackOptions, pack};
///
/// let life = |bytes, first, last| Life { bytes, first, last };
/// let lives = [life(1000, 0, 1), life(2000, 1, 2), life(1000, 2, 3)];
/// let packing = pack(&lives, 64, &PackOptions::default()).unwrap();
/// assert_eq!(packing.bytes, 1024 + 2048);
/// assert!(packing.proven);
/// ```
///
/// # Errors
/// [`PackError`] when the alignment is not a power of two, a life ends before it begins, or the sizes do not add up
/// within 64 bits.
pub fn pack(lives: &[Life], align: u64, options: &PackOptions) -> Result<Packing, PackError> {
    if !align.is_power_of_two() {
        return Err(PackError::BadAlignment { align });
    }
    let mut items = Vec::with_capacity(lives.len());
    let mut sum = 0u64;
    for (index, &Life { bytes, first, last }) in lives.iter().enumerate() {
        if last < first {
            return Err(PackError::EndsBeforeItBegins { index, first, last });
        }
        let bytes = bytes.checked_next_multiple_of(align).ok_or(PackError::Overflow)?;
        sum = sum.checked_add(bytes).ok_or(PackError::Overflow)?;
        items.push(Item { bytes, first, last });
    }
    let bound = lower_bound(items.iter().copied());
    let Packed { layout, bytes_min, method, nodes } = packed(&items, align, &bound, options.nodes);
    Ok(Packing {
        offsets: layout.offsets,
        bytes: layout.bytes,
        lower_bound: bound.bytes,
        bound_step: bound.step,
        proven: layout.bytes == bytes_min,
        method,
        nodes,
    })
}

/// A life whose size is a multiple of the alignment. In every table of items the sum of sizes fits in 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub bytes: u64,
    /// First and last step, inclusive.
    pub first: u32,
    pub last: u32,
}

impl Item {
    /// Whether both exist at some step.
    fn meets(&self, other: &Item) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl From<&Draft> for Item {
    fn from(&Draft { bytes, first, last, .. }: &Draft) -> Self {
        Self { bytes, first, last }
    }
}

/// An offset for each item, and the bytes needed in all.
pub(crate) struct Layout {
    pub offsets: Vec<u64>,
    pub bytes: u64,
}

impl Layout {
    fn of(items: &[Item], offsets: Vec<u64>) -> Self {
        let ends = items.iter().zip(&offsets).map(|(item, offset)| offset + item.bytes);
        let bytes = ends.max().unwrap_or(0);
        Self { offsets, bytes }
    }
}

/// A layout and how it was found.
pub(crate) struct Packed {
    pub layout: Layout,
    /// No layout needs less.
    pub bytes_min: u64,
    pub method: Method,
    pub nodes: u64,
}

/// The best layout that can be found with `nodes` nodes.
/// `bound` is that of the items.
pub(crate) fn packed(items: &[Item], align: u64, bound: &Bound, nodes: u64) -> Packed {
    let (layout, method) = greedy::portfolio(items, align, bound.bytes);
    let found = Packed { layout, bytes_min: bound.bytes, method, nodes: 0 };
    if found.layout.bytes == bound.bytes || nodes == 0 {
        return found;
    }
    improve::improve(items, align, bound, found, nodes)
}
