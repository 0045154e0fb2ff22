//! The numbers that a batch is: what the inputs of the body hold.

use graph::Extents;
use models::inputs;

use crate::batch::Piece;

/// Room for one batch, reused for the next.
#[derive(Default)]
pub(crate) struct BatchInputs {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    last_positions: Vec<i32>,
    sequences: Vec<i32>,
    outputs: Vec<i32>,
    /// For each kind of layer a row of pages a piece.
    pub tables: [Vec<i32>; 2],
    pieces: usize,
}

impl BatchInputs {
    /// Starts over with no tokens.
    pub fn clear(&mut self) {
        self.pieces = 0;
        let [tables, tables_window] = &mut self.tables;
        let places = [&mut self.positions, &mut self.last_positions, &mut self.sequences];
        let lists = [&mut self.tokens, &mut self.outputs, tables, tables_window];
        lists.into_iter().chain(places).for_each(Vec::clear);
    }

    /// Adds a piece of an item with these tokens, whose sequence has `before` positions.
    pub fn add(&mut self, piece: &Piece, tokens: &[u32], before: usize) {
        let first_output = self.tokens.len() + piece.outputs.start - piece.tokens.start;
        self.tokens.extend(tokens[piece.tokens.clone()].iter().map(|t| *t as i32));
        self.positions.extend((before..).take(piece.tokens.len()).map(|p| p as i32));
        self.last_positions.resize(self.tokens.len(), (before + piece.tokens.len()) as i32 - 1);
        self.sequences.resize(self.tokens.len(), self.pieces as i32);
        self.outputs.extend((first_output..).take(piece.outputs.len()).map(|o| o as i32));
        self.pieces += 1;
    }

    /// How large the batch is.
    pub fn extents(&self) -> Extents {
        Extents { tokens: self.tokens.len(), outputs: self.outputs.len(), sequences: self.pieces }
    }

    /// The numbers of each input.
    pub fn by_name(&self) -> [(&'static str, &[i32]); 7] {
        [
            (inputs::TOKEN_IDS, &self.tokens),
            (inputs::POSITIONS, &self.positions),
            (inputs::LAST_POSITIONS, &self.last_positions),
            (inputs::SEQUENCES, &self.sequences),
            (inputs::PAGE_TABLES, &self.tables[0]),
            (inputs::PAGE_TABLES_WINDOW, &self.tables[1]),
            (inputs::OUT_IDS, &self.outputs),
        ]
    }
}
