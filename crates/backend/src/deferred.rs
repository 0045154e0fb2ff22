//! Any backend, made to behave like a GPU.

use std::sync::Arc;

use graph::{DType, Extents, InPlace, Op, Region, RegionId, Shape};

use crate::{Backend, BackendError, Call, Caps, Device, SharedBytes, WeightHandle, Window};

/// What was submitted and not yet done.
enum Command {
    Write(Window, Vec<u8>),
    Fill(Window, [u8; 4]),
    Run(Arc<[Call]>, Extents),
    CopyPage(RegionId, usize, usize),
    WritePage(RegionId, usize, usize, Vec<u8>),
}

/// Records what is submitted and does it, in order, at `synchronize`. The arena is filled with NaNs when it
/// is made, so that whatever reads before anything was written shows. A read from the host while work is
/// pending panics: it would have read stale bytes from a real device.
pub struct Deferred {
    inner: Box<dyn Backend>,
    caps: Caps,
    arena_bytes: usize,
    pending: Vec<Command>,
}

impl Deferred {
    /// Wraps a backend, under a name of its own.
    pub fn new(inner: Box<dyn Backend>, name: &str) -> Deferred {
        let caps = Caps { name: name.to_owned(), ..inner.caps().clone() };
        Deferred { inner, caps, arena_bytes: 0, pending: Vec::new() }
    }
}

impl Device for Deferred {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String> {
        self.inner.supports(op, inputs)
    }

    fn activations(&self, weight: DType) -> DType {
        self.inner.activations(weight)
    }

    fn writes_in_place(&self, op: &Op, right: InPlace) -> bool {
        self.inner.writes_in_place(op, right)
    }

    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
        self.inner.scratch_bytes(op, inputs, capacity)
    }
}

impl Backend for Deferred {
    fn reserve_arena(&mut self, bytes: usize) -> Result<(), BackendError> {
        if bytes <= self.arena_bytes {
            return Ok(());
        }
        self.synchronize()?;
        self.inner.reserve_arena(bytes)?;
        self.arena_bytes = bytes;
        self.inner.write(Window { offset: 0, bytes }, &vec![0xff; bytes])
    }

    fn reserve_region(&mut self, id: RegionId, region: &Region, pages: usize) -> Result<(), BackendError> {
        self.inner.reserve_region(id, region, pages)
    }

    fn discard_page(&mut self, id: RegionId, page: usize) -> Result<(), BackendError> {
        self.synchronize()?;
        self.inner.discard_page(id, page)
    }

    fn copy_page(&mut self, id: RegionId, from: usize, to: usize) -> Result<(), BackendError> {
        self.pending.push(Command::CopyPage(id, from, to));
        Ok(())
    }

    fn read_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        assert!(self.pending.is_empty(), "{} is read while work is pending", self.caps.name);
        self.inner.read_page(id, page, positions, bytes)
    }

    fn write_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.pending.push(Command::WritePage(id, page, positions, bytes.to_vec()));
        Ok(())
    }

    fn register_weight(&mut self, name: &str, bytes: SharedBytes) -> Result<WeightHandle, BackendError> {
        self.inner.register_weight(name, bytes)
    }

    fn write(&mut self, window: Window, bytes: &[u8]) -> Result<(), BackendError> {
        self.pending.push(Command::Write(window, bytes.to_vec()));
        Ok(())
    }

    fn fill(&mut self, window: Window, pattern: [u8; 4]) -> Result<(), BackendError> {
        self.pending.push(Command::Fill(window, pattern));
        Ok(())
    }

    fn read(&mut self, window: Window, bytes: &mut [u8]) -> Result<(), BackendError> {
        assert!(self.pending.is_empty(), "{} is read while work is pending", self.caps.name);
        self.inner.read(window, bytes)
    }

    fn run(&mut self, calls: &Arc<[Call]>, extents: &Extents) -> Result<(), BackendError> {
        self.pending.push(Command::Run(calls.clone(), *extents));
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), BackendError> {
        // Taken first: what comes after a failed command must not run later.
        for command in std::mem::take(&mut self.pending) {
            match command {
                Command::Write(window, bytes) => self.inner.write(window, &bytes)?,
                Command::Fill(window, pattern) => self.inner.fill(window, pattern)?,
                Command::Run(calls, extents) => self.inner.run(&calls, &extents)?,
                Command::CopyPage(id, from, to) => self.inner.copy_page(id, from, to)?,
                Command::WritePage(id, page, positions, bytes) => {
                    self.inner.write_page(id, page, positions, &bytes)?;
                }
            }
        }
        self.inner.synchronize()
    }
}
