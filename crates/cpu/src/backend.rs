//! The CPU behind the backend trait.

use std::collections::HashMap;
use std::sync::Arc;

use backend::{Backend, BackendError, Call, Caps, Device, SharedBytes, WeightHandle, Window};
use graph::{DType, Extents, InPlace, Op, Region, RegionId, Shape};

use crate::float_env::FloatEnv;
use crate::memory::{RegionMemory, Reserved};
use crate::op::Run;
use crate::{CpuDevice, Isa, ThreadPool};

/// The CPU as a device. Several can share a pool.
pub struct Cpu {
    device: CpuDevice,
    pool: Arc<ThreadPool>,
    arena: Reserved,
    regions: HashMap<RegionId, RegionMemory>,
    weights: Vec<SharedBytes>,
}

impl Cpu {
    /// A device that runs on this pool with kernels of this tier.
    ///
    /// # Panics
    /// If the machine lacks the tier: [`Isa::is_available`] tells.
    pub fn new(pool: Arc<ThreadPool>, isa: Isa) -> Cpu {
        assert_eq!(isa.is_available(), Ok(()));
        let device = CpuDevice::new(isa, pool.threads());
        let arena = Reserved::new("arena", 0, false).expect("nothing is reserved");
        Cpu { device, pool, arena, regions: HashMap::new(), weights: Vec::new() }
    }

    /// The tier in use.
    pub fn isa(&self) -> Isa {
        self.device.isa()
    }

    fn region(&mut self, id: RegionId, page: usize) -> Result<&mut RegionMemory, BackendError> {
        let unknown = || BackendError::Unknown { device: "cpu".to_owned(), what: format!("region {}", id.0) };
        let region = self.regions.get_mut(&id).ok_or_else(unknown)?;
        assert!(page < region.pages, "page {page} of {}", region.pages);
        Ok(region)
    }

    fn window(&mut self, window: Window, bytes: usize) -> Result<&mut [u8], BackendError> {
        let arena = self.arena.len();
        let error = BackendError::Window { offset: window.offset, bytes: window.bytes, arena };
        let fits =
            bytes <= window.bytes && window.offset.checked_add(window.bytes).is_some_and(|e| e <= arena);
        if !fits {
            return Err(error);
        }
        Ok(&mut self.arena.bytes_mut()[window.offset..window.offset + bytes])
    }
}

impl Device for Cpu {
    fn caps(&self) -> &Caps {
        self.device.caps()
    }

    fn supports(&self, op: &Op, inputs: &[DType]) -> Result<(), String> {
        self.device.supports(op, inputs)
    }

    fn activations(&self, weight: DType) -> DType {
        self.device.activations(weight)
    }

    fn writes_in_place(&self, op: &Op, right: InPlace) -> bool {
        self.device.writes_in_place(op, right)
    }

    fn scratch_bytes(&self, op: &Op, inputs: &[(Shape, DType)], capacity: &Extents) -> usize {
        self.device.scratch_bytes(op, inputs, capacity)
    }
}

impl Backend for Cpu {
    fn reserve_arena(&mut self, bytes: usize) -> Result<(), BackendError> {
        if bytes > self.arena.len() {
            // The old one first: the two never exist side by side.
            self.arena = Reserved::new("arena", 0, false)?;
            self.arena = Reserved::new("arena", bytes, false)?;
        }
        Ok(())
    }

    fn reserve_region(&mut self, id: RegionId, region: &Region, pages: usize) -> Result<(), BackendError> {
        if let Some(known) = self.regions.get(&id) {
            let describe = |r: &Region, pages| {
                format!("{}, {} heads of {} {}, {pages} pages", r.name, r.heads, r.head_dim, r.dtype)
            };
            let (exists, asked) = (describe(&known.region, known.pages), describe(region, pages));
            if exists != asked {
                return Err(BackendError::RegionMismatch { name: region.name.clone(), asked, exists });
            }
            return Ok(());
        }
        self.regions.insert(id, RegionMemory::new(region, pages)?);
        Ok(())
    }

    fn discard_page(&mut self, id: RegionId, page: usize) -> Result<(), BackendError> {
        self.region(id, page)?.discard_page(page);
        Ok(())
    }

    fn copy_page(&mut self, id: RegionId, from: usize, to: usize) -> Result<(), BackendError> {
        self.region(id, from.max(to))?.copy_page(from, to);
        Ok(())
    }

    fn read_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        self.region(id, page)?.read_page(page, positions, bytes);
        Ok(())
    }

    fn write_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.region(id, page)?.write_page(page, positions, bytes);
        Ok(())
    }

    fn register_weight(&mut self, _: &str, bytes: SharedBytes) -> Result<WeightHandle, BackendError> {
        self.weights.push(bytes);
        Ok(WeightHandle(self.weights.len() as u32 - 1))
    }

    fn write(&mut self, window: Window, bytes: &[u8]) -> Result<(), BackendError> {
        self.window(window, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn fill(&mut self, window: Window, pattern: [u8; 4]) -> Result<(), BackendError> {
        let (whole, rest) = self.window(window, window.bytes)?.as_chunks_mut();
        whole.fill(pattern);
        rest.copy_from_slice(&pattern[..rest.len()]);
        Ok(())
    }

    fn read(&mut self, window: Window, bytes: &mut [u8]) -> Result<(), BackendError> {
        bytes.copy_from_slice(self.window(window, bytes.len())?);
        Ok(())
    }

    fn run(&mut self, calls: &Arc<[Call]>, extents: &Extents) -> Result<(), BackendError> {
        let _modes = FloatEnv::enter();
        let team = self.pool.enter();
        let run = |call| Run {
            call,
            extents,
            isa: self.device.isa(),
            pool: &team,
            arena: &self.arena,
            regions: &self.regions,
            weights: &self.weights,
        };
        for (index, call) in calls.iter().enumerate() {
            // As early as the threads may have time for it: while the last of them is busy with this call.
            if index == 0 || Run::is_product(call) {
                let next = calls[index + 1..].iter().find(|call| Run::is_product(call));
                next.into_iter().for_each(|next| run(next).announce());
            }
            run(call).execute()?;
        }
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}
