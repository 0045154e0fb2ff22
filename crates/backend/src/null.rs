//! A device that plans and runs nothing.

use std::sync::Arc;

use graph::{DType, Extents, InPlace, Op, Region, RegionId, Shape};

use crate::{Backend, BackendError, Call, Caps, Device, Fused, SharedBytes, WeightHandle, Window};

/// Takes every program, computes nothing, reads as zeros. For tests of everything up to the kernels.
#[derive(Debug)]
pub struct Null {
    caps: Caps,
    weights: u32,
}

impl Null {
    /// A device with every capability.
    pub fn new(name: &str) -> Null {
        let caps = Caps { name: name.to_owned(), arena_align: 64, arena_limit: None, fused: Fused::ALL };
        Null { caps, weights: 0 }
    }

    /// The same device with other capabilities.
    pub fn with_caps(caps: Caps) -> Null {
        Null { caps, weights: 0 }
    }
}

impl Device for Null {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn supports(&self, _: &Op, _: &[DType]) -> Result<(), String> {
        Ok(())
    }

    fn activations(&self, weight: DType) -> DType {
        if weight.is_quantized() { DType::A32 } else { DType::F32 }
    }

    fn writes_in_place(&self, _: &Op, _: InPlace) -> bool {
        true
    }

    fn scratch_bytes(&self, _: &Op, _: &[(Shape, DType)], _: &Extents) -> usize {
        0
    }
}

impl Backend for Null {
    fn reserve_arena(&mut self, _: usize) -> Result<(), BackendError> {
        Ok(())
    }

    fn reserve_region(&mut self, _: RegionId, _: &Region, _: usize) -> Result<(), BackendError> {
        Ok(())
    }

    fn discard_page(&mut self, _: RegionId, _: usize) -> Result<(), BackendError> {
        Ok(())
    }

    fn copy_page(&mut self, _: RegionId, _: usize, _: usize) -> Result<(), BackendError> {
        Ok(())
    }

    fn read_page(&mut self, _: RegionId, _: usize, _: usize, bytes: &mut [u8]) -> Result<(), BackendError> {
        bytes.fill(0);
        Ok(())
    }

    fn write_page(&mut self, _: RegionId, _: usize, _: usize, _: &[u8]) -> Result<(), BackendError> {
        Ok(())
    }

    fn register_weight(&mut self, _: &str, _: SharedBytes) -> Result<WeightHandle, BackendError> {
        self.weights += 1;
        Ok(WeightHandle(self.weights - 1))
    }

    fn write(&mut self, _: Window, _: &[u8]) -> Result<(), BackendError> {
        Ok(())
    }

    fn read(&mut self, _: Window, bytes: &mut [u8]) -> Result<(), BackendError> {
        bytes.fill(0);
        Ok(())
    }

    fn run(&mut self, _: &Arc<[Call]>, _: &Extents) -> Result<(), BackendError> {
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}
