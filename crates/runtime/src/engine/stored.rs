//! A sequence's keys and values as bytes, to keep elsewhere and to bring back.

use super::Engine;
use crate::cache::Part;
use crate::{RuntimeError, SeqId};

/// What a sequence has in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its positions.
    pub len: usize,
    /// The first of them that layers with a window still have: the first of a page. 0 where no layer has a window.
    pub window_first: usize,
}

impl Engine {
    /// What a sequence has.
    pub fn held(&self, seq: SeqId) -> Result<Held, RuntimeError> {
        self.kv.held(seq)
    }

    /// Bytes that [`Engine::export`] gives of a sequence that has this.
    ///
    /// # Panics
    /// If it has more positions than the context.
    pub fn held_bytes(&self, held: Held) -> u64 {
        assert!(held.window_first <= held.len && held.len <= self.params.body.n_ctx, "{held:?}");
        self.kv.held_bytes(held)
    }

    /// Gives `sink` all keys and values of a sequence, a page of a layer at a time: each region of the program in turn, of it the
    /// pages of the sequence, of a page the rows of each head, of a head those of the positions that there are.
    pub fn export<E: From<RuntimeError>>(
        &mut self,
        seq: SeqId,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let parts = self.kv.parts(seq)?;
        for device in &mut self.parts.devices {
            device.synchronize().map_err(RuntimeError::from)?;
        }
        let mut rows = Vec::new();
        for Part { region, device, page, positions, bytes } in parts {
            rows.resize(bytes, 0);
            let device = &mut self.parts.devices[device.0];
            device.read_page(region, page, positions, &mut rows).map_err(RuntimeError::from)?;
            sink(&rows)?;
        }
        Ok(())
    }

    /// A new sequence with what `source` fills in, which is asked for the bytes that [`Engine::export`] gave of one that had
    /// `held`, in their order and sizes. They may be any bits: what is no number shows when it is computed with. After an error
    /// there is no sequence.
    pub fn import<E: From<RuntimeError>>(
        &mut self,
        held: Held,
        source: &mut dyn FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<SeqId, E> {
        let seq = self.kv.restore(held, self.params.body.n_ctx, &mut self.parts.devices)?;
        match self.fill(seq, source) {
            Ok(()) => Ok(seq),
            Err(error) => {
                self.remove(seq)?;
                Err(error)
            }
        }
    }

    fn fill<E: From<RuntimeError>>(
        &mut self,
        seq: SeqId,
        source: &mut dyn FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = Vec::new();
        for Part { region, device, page, positions, bytes } in self.kv.parts(seq)? {
            rows.resize(bytes, 0);
            source(&mut rows)?;
            let device = &mut self.parts.devices[device.0];
            device.write_page(region, page, positions, &rows).map_err(RuntimeError::from)?;
        }
        Ok(())
    }
}
