//! One batch through the body and the head.

use graph::Extents;
use models::{Output, PAGE_POSITIONS, inputs};

use super::Engine;
use crate::batch::{Item, Piece};
use crate::batch_inputs::BatchInputs;
use crate::profile::{self, Seen};
use crate::program_cache::GraphKind;
use crate::{RuntimeError, SeqId, executor};

/// Host memory that is reused from run to run: once it has grown to the largest batch, runs allocate nothing.
#[derive(Default)]
pub(super) struct Buffers {
    pub lengths: Vec<Lengths>,
    pub batch: Vec<Piece>,
    inputs: BatchInputs,
    hidden: Vec<u8>,
    logits: Vec<f32>,
    staging: Vec<u8>,
}

/// A sequence of a call with its positions before and after it.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub seq: SeqId,
    pub before: usize,
    pub after: usize,
}

impl Engine {
    /// Fills the cache with a batch and leaves its hidden rows in `buffers.hidden`.
    pub(super) fn run_body(&mut self, items: &[Item], batch: &[Piece]) -> Result<(), RuntimeError> {
        let mut seen = Seen::default();
        let window = self.parts.model.config.window.as_ref().map(|w| w.positions);
        let pages_a_sequence = self.params.body.n_ctx.div_ceil(PAGE_POSITIONS);
        self.buffers.inputs.clear();
        for piece in batch {
            let Item { seq, tokens, .. } = items[piece.item];
            self.kv.reserve(seq, piece.tokens.len(), &mut self.parts.devices)?;
            let before = self.kv.len(seq)?;
            match self.parts.model.config.arch.encoder {
                true => seen.add_whole(piece.tokens.len()),
                false => seen.add(before, piece.tokens.len(), window),
            }
            self.buffers.inputs.add(piece, tokens, before);
            self.kv.add_tables(seq, pages_a_sequence, &mut self.buffers.inputs.tables)?;
        }
        let extents = self.buffers.inputs.extents();
        let body = self.program(GraphKind::Body, &extents)?;
        let devices = &mut self.parts.devices;
        executor::begin(devices, &body)?;
        for (name, numbers) in self.buffers.inputs.by_name() {
            executor::write_input(devices, &body, name, bytemuck::cast_slice(numbers))?;
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

    /// Turns `buffers.hidden` into logits or normed rows, in pieces of the head's rows.
    pub(super) fn run_head(
        &mut self,
        items: &[Item],
        batch: &[Piece],
        sink: &mut dyn FnMut(usize, usize, &[f32]),
    ) -> Result<(), RuntimeError> {
        let row_bytes = self.parts.model.config.n_embd * size_of::<f32>();
        let width = self.parts.model.row_width(self.params.output);
        let mut rows = batch.iter().flat_map(|p| p.outputs.clone().map(move |o| (p, o)));
        let outputs = self.buffers.inputs.extents().outputs;
        for first in (0..outputs).step_by(self.params.head_rows) {
            let count = self.params.head_rows.min(outputs - first);
            let extents = Extents { tokens: count, outputs: count, sequences: 1 };
            let head = self.program(GraphKind::Head, &extents)?;
            let devices = &mut self.parts.devices;
            executor::begin(devices, &head)?;
            let hidden = &self.buffers.hidden[first * row_bytes..(first + count) * row_bytes];
            executor::write_input(devices, &head, inputs::HIDDEN, hidden)?;
            let staging = &mut self.buffers.staging;
            match &mut self.profile {
                None => executor::run(devices, &head, &extents, staging)?,
                Some(profile) => profile::run(devices, &head, &extents, staging, profile, &Seen::default())?,
            }
            self.buffers.logits.resize(count * width, 0.0);
            let logits = bytemuck::cast_slice_mut(&mut self.buffers.logits);
            executor::read_output(devices, &head.outputs[0], logits)?;
            for (logits, (piece, token)) in self.buffers.logits.chunks(width).zip(rows.by_ref()) {
                self.refuse_bad_row(items[piece.item].seq, piece.tokens.end - token, logits)?;
                sink(piece.item, token, logits);
            }
        }
        Ok(())
    }

    /// `back` counts from the end of the sequence: 1 is its last position.
    fn refuse_bad_row(&self, seq: SeqId, back: usize, logits: &[f32]) -> Result<(), RuntimeError> {
        // One sum finds any NaN or infinity in a pass that vectorizes; only then look for it.
        if logits.iter().map(|x| x * 0.0).sum::<f32>() == 0.0 {
            return Ok(());
        }
        let found = logits.iter().enumerate().find(|(_, x)| !x.is_finite());
        let Some((token, value)) = found else { return Ok(()) };
        let position = self.kv.len(seq)? - back;
        let value = *value;
        Err(match self.params.output == Output::Hidden || self.parts.model.config.arch.encoder {
            true => RuntimeError::BadHidden { seq, position, element: token, value },
            false => RuntimeError::BadLogits { seq, position, token, value },
        })
    }
}
