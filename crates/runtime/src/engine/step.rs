//! One batch through the body and the head.

use graph::Extents;
use models::{PAGE_POSITIONS, inputs};

use super::Engine;
use crate::batch::{Item, Piece};
use crate::profile::{self, Seen};
use crate::program_cache::GraphKind;
use crate::{RuntimeError, SeqId, executor};

/// Host memory that is reused from run to run.
#[derive(Default)]
pub(super) struct Buffers {
    bytes: Vec<u8>,
    hidden: Vec<u8>,
    logits: Vec<f32>,
    staging: Vec<u8>,
}

/// Numbers of one batch.
#[derive(Default)]
struct BatchIds {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    sequences: Vec<i32>,
    outputs: Vec<i32>,
}

impl Engine {
    /// Fills the cache with a batch and leaves its hidden rows in `buffers.hidden`.
    pub(super) fn run_body(&mut self, items: &[Item], batch: &[Piece]) -> Result<(), RuntimeError> {
        let mut ids = BatchIds::default();
        let mut seen = Seen::default();
        let window = self.parts.model.config.window.as_ref().map(|w| w.positions);
        let pages_a_sequence = self.params.body.n_ctx.div_ceil(PAGE_POSITIONS);
        for (row, piece) in batch.iter().enumerate() {
            let Item { seq, tokens, .. } = items[piece.item];
            self.kv.reserve(seq, piece.tokens.len(), &mut self.parts.devices)?;
            let before = self.kv.len(seq)?;
            seen.add(before, piece.tokens.len(), window);
            let first = before as i32;
            let outputs_from = ids.tokens.len() as i32 - piece.tokens.start as i32;
            ids.tokens.extend(tokens[piece.tokens.clone()].iter().map(|t| *t as i32));
            ids.positions.extend((0..piece.tokens.len() as i32).map(|i| first + i));
            ids.sequences.extend(piece.tokens.clone().map(|_| row as i32));
            ids.outputs.extend(piece.outputs.clone().map(|o| outputs_from + o as i32));
        }
        let seqs: Vec<SeqId> = batch.iter().map(|piece| items[piece.item].seq).collect();
        let tables = self.kv.tables(&seqs, pages_a_sequence, 0)?;
        let tables_window = self.kv.tables(&seqs, pages_a_sequence, 1)?;
        let extents =
            Extents { tokens: ids.tokens.len(), outputs: ids.outputs.len(), sequences: batch.len() };
        let body = self.program(GraphKind::Body, &extents)?;
        let devices = &mut self.parts.devices;
        executor::begin(devices, &body)?;
        let filled = [
            (inputs::TOKEN_IDS, &ids.tokens),
            (inputs::POSITIONS, &ids.positions),
            (inputs::SEQUENCES, &ids.sequences),
            (inputs::PAGE_TABLES, &tables),
            (inputs::PAGE_TABLES_WINDOW, &tables_window),
            (inputs::OUT_IDS, &ids.outputs),
        ];
        for (name, numbers) in filled {
            self.buffers.bytes.clear();
            self.buffers.bytes.extend(numbers.iter().flat_map(|n| n.to_ne_bytes()));
            executor::write_input(devices, &body, name, &self.buffers.bytes)?;
        }
        let staging = &mut self.buffers.staging;
        match &mut self.profile {
            None => executor::run(devices, &body, &extents, staging)?,
            Some(profile) => profile::run(devices, &body, &extents, staging, profile, &seen)?,
        }
        let row_bytes = self.parts.model.config.n_embd * size_of::<f32>();
        self.buffers.hidden.resize(extents.outputs * row_bytes, 0);
        executor::read_output(devices, &body.outputs[0], &mut self.buffers.hidden)?;
        for device in devices.iter_mut() {
            device.synchronize()?;
        }
        for piece in batch {
            self.kv.advance(items[piece.item].seq, piece.tokens.len(), &mut self.parts.devices)?;
        }
        Ok(())
    }

    /// Turns `buffers.hidden` into logits, in pieces of the head's rows.
    pub(super) fn run_head(
        &mut self,
        items: &[Item],
        batch: &[Piece],
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        let row_bytes = self.parts.model.config.n_embd * size_of::<f32>();
        let n_vocab = self.parts.model.config.n_vocab;
        let rows: Vec<(&Piece, usize)> =
            batch.iter().flat_map(|p| p.outputs.clone().map(move |o| (p, o))).collect();
        let hidden = std::mem::take(&mut self.buffers.hidden);
        for (piece, rows) in rows.chunks(self.params.head_rows).enumerate() {
            let first = piece * self.params.head_rows * row_bytes;
            let extents = Extents { tokens: rows.len(), outputs: rows.len(), sequences: 1 };
            let head = self.program(GraphKind::Head, &extents)?;
            let devices = &mut self.parts.devices;
            executor::begin(devices, &head)?;
            let bytes = &hidden[first..first + rows.len() * row_bytes];
            executor::write_input(devices, &head, inputs::HIDDEN, bytes)?;
            let staging = &mut self.buffers.staging;
            match &mut self.profile {
                None => executor::run(devices, &head, &extents, staging)?,
                Some(profile) => profile::run(devices, &head, &extents, staging, profile, &Seen::default())?,
            }
            self.buffers.logits.resize(rows.len() * n_vocab, 0.0);
            let logits = bytemuck::cast_slice_mut(&mut self.buffers.logits);
            executor::read_output(devices, &head.outputs[0], logits)?;
            for ((piece, token), logits) in rows.iter().zip(self.buffers.logits.chunks(n_vocab)) {
                self.refuse_bad_logits(items[piece.item].seq, piece.tokens.end - token, logits)?;
                sink(piece.item, *token, logits);
            }
        }
        self.buffers.hidden = hidden;
        Ok(())
    }

    /// `back` counts from the end of the sequence: 1 is its last position.
    fn refuse_bad_logits(&self, seq: SeqId, back: usize, logits: &[f32]) -> Result<(), RuntimeError> {
        // One sum finds any NaN or infinity in a pass that vectorizes; only then look for it.
        if logits.iter().map(|x| x * 0.0).sum::<f32>() == 0.0 {
            return Ok(());
        }
        let found = logits.iter().enumerate().find(|(_, x)| !x.is_finite());
        let Some((token, value)) = found else { return Ok(()) };
        let position = self.kv.len(seq)? - back;
        Err(RuntimeError::BadLogits { seq, position, token, value: *value })
    }
}
