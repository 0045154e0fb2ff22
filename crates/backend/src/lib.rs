//! What a device is to the rest of the engine, and two devices that exist for tests.
//!
//! - [`Device`] is the pure half: what a device can do, as data and as functions of shapes. Compilation sees
//!   nothing else, so programs are planned without a device being there.
//! - [`Backend`] is the half that acts: an arena, persistent regions, weights, and `run`.
//! - [`Null`] plans and runs nothing. [`Deferred`] makes any backend behave like a GPU: `run` only records.
//!
//! A backend never chooses where a value lives: a [`Call`] says it.

mod call;
mod deferred;
mod device;
mod error;
mod null;

pub use call::{At, Call, Operand, WeightHandle, Window};
pub use deferred::Deferred;
pub use device::{Caps, Device, Fused};
pub use error::BackendError;
pub use null::Null;

use std::sync::Arc;

use graph::{Extents, Region, RegionId};

/// Bytes that a device may keep for as long as it lives: a tensor of a mapped file, or a copy.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A device that runs calls.
///
/// Work is submitted in order. Nothing may be read from the host between a submission and
/// [`Backend::synchronize`].
pub trait Backend: Device + Send {
    /// Makes the arena at least this large. Offsets stay valid; contents need not survive.
    fn reserve_arena(&mut self, bytes: usize) -> Result<(), BackendError>;

    /// Makes a persistent region of that many pages. Asking again with the same region and pages is fine;
    /// with another shape, type or size it is an error, never the old memory in silence.
    fn reserve_region(&mut self, id: RegionId, region: &Region, pages: usize) -> Result<(), BackendError>;

    /// Gives back the memory of a page that nothing refers to any more.
    fn discard_page(&mut self, id: RegionId, page: usize) -> Result<(), BackendError>;

    /// Copies a page of a region to another page of it.
    fn copy_page(&mut self, id: RegionId, from: usize, to: usize) -> Result<(), BackendError>;

    /// Reads what a page of a region holds of its first `positions` positions: the rows of each head in turn, those of a head
    /// in the order of positions. Only after [`Backend::synchronize`].
    fn read_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &mut [u8],
    ) -> Result<(), BackendError>;

    /// Writes the first `positions` positions of a page, in the form in which [`Backend::read_page`] gives them; submitted in
    /// order, as calls are.
    fn write_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError>;

    /// Makes a tensor known. `bytes` holds rows of `dtype`, as in the file.
    fn register_weight(&mut self, name: &str, bytes: SharedBytes) -> Result<WeightHandle, BackendError>;

    /// Writes host bytes to the start of a window.
    fn write(&mut self, window: Window, bytes: &[u8]) -> Result<(), BackendError>;

    /// Fills a whole window with a pattern, repeated from its start on; submitted in order, as calls are.
    fn fill(&mut self, window: Window, pattern: [u8; 4]) -> Result<(), BackendError> {
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(window.bytes).collect();
        self.write(window, &bytes)
    }

    /// Reads the start of a window. Only after [`Backend::synchronize`].
    fn read(&mut self, window: Window, bytes: &mut [u8]) -> Result<(), BackendError>;

    /// Submits calls in order for a run with these extents.
    fn run(&mut self, calls: &Arc<[Call]>, extents: &Extents) -> Result<(), BackendError>;

    /// Waits until all that was submitted is done; says what went wrong in it.
    fn synchronize(&mut self) -> Result<(), BackendError>;
}
