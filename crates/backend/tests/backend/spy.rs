//! A device that remembers what it was asked to do, in bytes that can be read.

use std::sync::{Arc, Mutex};

use backend::{Backend, BackendError, Call, Caps, Device, Fused, SharedBytes, WeightHandle, Window};
use graph::{DType, Extents, InPlace, Op, Region, RegionId, Shape};

/// What happened, in words; shared with the test.
pub type Log = Arc<Mutex<Vec<String>>>;

/// Its arena is real; `run` writes the number of tokens to the arena's first byte, or fails for 0 of them.
pub struct Spy {
    caps: Caps,
    arena: Vec<u8>,
    log: Log,
}

impl Spy {
    pub fn new() -> (Box<Spy>, Log) {
        let log = Log::default();
        let fused = Fused { add_norm: true, ..Fused::NONE };
        let caps = Caps { name: "spy".into(), arena_align: 256, arena_limit: Some(4096), fused };
        (Box::new(Spy { caps, arena: Vec::new(), log: log.clone() }), log)
    }

    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

impl Device for Spy {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn supports(&self, op: &Op, _: &[DType]) -> Result<(), String> {
        if matches!(op, Op::Add(_)) { Ok(()) } else { Err("only additions".into()) }
    }

    fn activations(&self, weight: DType) -> DType {
        weight
    }

    fn writes_in_place(&self, _: &Op, right: InPlace) -> bool {
        right.input == 0
    }

    fn scratch_bytes(&self, _: &Op, _: &[(Shape, DType)], capacity: &Extents) -> usize {
        capacity.tokens * 3
    }
}

impl Backend for Spy {
    fn reserve_arena(&mut self, bytes: usize) -> Result<(), BackendError> {
        self.note(format!("arena {bytes}"));
        self.arena.resize(bytes, 0);
        Ok(())
    }

    fn reserve_region(&mut self, id: RegionId, _: &Region, pages: usize) -> Result<(), BackendError> {
        self.note(format!("region {} of {pages}", id.0));
        Ok(())
    }

    fn discard_page(&mut self, id: RegionId, page: usize) -> Result<(), BackendError> {
        self.note(format!("discard {} {page}", id.0));
        Ok(())
    }

    fn copy_page(&mut self, id: RegionId, from: usize, to: usize) -> Result<(), BackendError> {
        self.note(format!("copy {} {from} {to}", id.0));
        Ok(())
    }

    fn read_page(&mut self, id: RegionId, page: usize, _: usize, _: &mut [u8]) -> Result<(), BackendError> {
        self.note(format!("read page {} {page}", id.0));
        Ok(())
    }

    fn write_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.note(format!("write page {} {page}: {} bytes of {positions}", id.0, bytes.len()));
        Ok(())
    }

    fn register_weight(&mut self, name: &str, _: SharedBytes) -> Result<WeightHandle, BackendError> {
        self.note(format!("weight {name}"));
        Ok(WeightHandle(7))
    }

    fn write(&mut self, window: Window, bytes: &[u8]) -> Result<(), BackendError> {
        self.note(format!("write {}+{}", window.offset, bytes.len()));
        self.arena[window.offset..window.offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, window: Window, bytes: &mut [u8]) -> Result<(), BackendError> {
        bytes.copy_from_slice(&self.arena[window.offset..window.offset + bytes.len()]);
        Ok(())
    }

    fn run(&mut self, _: &Arc<[Call]>, extents: &Extents) -> Result<(), BackendError> {
        self.note(format!("run {}", extents.tokens));
        if extents.tokens == 0 {
            return Err(BackendError::Unknown { device: "spy".into(), what: "nothing".into() });
        }
        self.arena[0] = extents.tokens as u8;
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), BackendError> {
        self.note("synchronize".into());
        Ok(())
    }
}
