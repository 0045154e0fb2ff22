//! A device that makes one mistake with memory, to show that checks notice.

use std::sync::Arc;

use backend::{At, Backend, BackendError, Call, Caps, Device, SharedBytes, WeightHandle, Window};
use graph::{DType, Extents, InPlace, Op, Region, RegionId, Shape};

/// What it does wrong.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Writes the byte that lies so far behind the node's result.
    WritesBehind(usize),
    /// Writes the byte before the node's result.
    WritesBefore,
    /// Writes the byte behind the node's working memory.
    WritesBehindScratch,
    /// Reads in place of the node's input what was the input of an earlier node.
    ReadsWhatIsGone,
    /// Does not run the node.
    WritesNothing,
    /// Leaves out the last row of the node's result.
    LeavesOutARow,
}

/// A backend and the node at which it goes wrong.
pub struct Faulty {
    inner: Box<dyn Backend>,
    fault: Fault,
    node: String,
    earlier: String,
    /// Where the input of the earlier node was.
    gone: Option<At>,
}

impl Faulty {
    /// Makes the mistake at `node`. `earlier` is the node whose input is read once more, if that is the mistake.
    pub fn new(inner: Box<dyn Backend>, fault: Fault, node: &str, earlier: &str) -> Faulty {
        Faulty { inner, fault, node: node.to_owned(), earlier: earlier.to_owned(), gone: None }
    }

    fn run_one(&mut self, call: &Call, extents: &Extents) -> Result<(), BackendError> {
        if call.name == self.earlier {
            self.gone = Some(call.inputs[0].at);
        }
        if call.name != self.node {
            return self.inner.run(&[call.clone()].into(), extents);
        }
        let mut call = call.clone();
        let At::Arena(result) = call.outputs[0].at else { panic!("a result that is read") };
        let bytes = call.outputs[0].bytes(extents);
        match self.fault {
            Fault::WritesNothing => return Ok(()),
            Fault::ReadsWhatIsGone => call.inputs[0].at = self.gone.expect("the earlier node ran"),
            Fault::WritesBehind(_)
            | Fault::WritesBefore
            | Fault::WritesBehindScratch
            | Fault::LeavesOutARow => {}
        }
        let row = call.outputs[0].dtype.row_bytes(call.outputs[0].shape.columns().unwrap());
        let last = Window { offset: result.offset + bytes - row, bytes: row };
        let mut before = vec![0; row];
        self.inner.synchronize()?;
        self.inner.read(last, &mut before)?;
        self.inner.run(&[call.clone()].into(), extents)?;
        self.inner.synchronize()?;
        let mut write = |offset, bytes: &[u8]| self.inner.write(Window { offset, bytes: bytes.len() }, bytes);
        match self.fault {
            Fault::WritesBehind(far) => write(result.offset + bytes + far, &[1]),
            Fault::WritesBefore => write(result.offset - 1, &[1]),
            Fault::WritesBehindScratch => {
                let scratch = call.scratch.expect("working memory");
                write(scratch.offset + scratch.bytes, &[1])
            }
            Fault::LeavesOutARow => write(last.offset, &before),
            Fault::ReadsWhatIsGone | Fault::WritesNothing => Ok(()),
        }
    }
}

impl Device for Faulty {
    fn caps(&self) -> &Caps {
        self.inner.caps()
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

impl Backend for Faulty {
    fn reserve_arena(&mut self, bytes: usize) -> Result<(), BackendError> {
        self.inner.reserve_arena(bytes)
    }

    fn reserve_region(&mut self, id: RegionId, region: &Region, pages: usize) -> Result<(), BackendError> {
        self.inner.reserve_region(id, region, pages)
    }

    fn discard_page(&mut self, id: RegionId, page: usize) -> Result<(), BackendError> {
        self.inner.discard_page(id, page)
    }

    fn copy_page(&mut self, id: RegionId, from: usize, to: usize) -> Result<(), BackendError> {
        self.inner.copy_page(id, from, to)
    }

    fn read_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &mut [u8],
    ) -> Result<(), BackendError> {
        self.inner.read_page(id, page, positions, bytes)
    }

    fn write_page(
        &mut self,
        id: RegionId,
        page: usize,
        positions: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.inner.write_page(id, page, positions, bytes)
    }

    fn register_weight(&mut self, name: &str, bytes: SharedBytes) -> Result<WeightHandle, BackendError> {
        self.inner.register_weight(name, bytes)
    }

    fn write(&mut self, window: Window, bytes: &[u8]) -> Result<(), BackendError> {
        self.inner.write(window, bytes)
    }

    fn read(&mut self, window: Window, bytes: &mut [u8]) -> Result<(), BackendError> {
        self.inner.read(window, bytes)
    }

    fn run(&mut self, calls: &Arc<[Call]>, extents: &Extents) -> Result<(), BackendError> {
        calls.iter().try_for_each(|call| self.run_one(call, extents))
    }

    fn synchronize(&mut self) -> Result<(), BackendError> {
        self.inner.synchronize()
    }
}
