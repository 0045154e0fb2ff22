//! Shapes whose dimensions may depend on how much a run has to do.

use serde::{Deserialize, Serialize};

use crate::DType;

/// A count that is known only when a batch arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Symbol {
    /// Tokens in the batch.
    Tokens,
    /// Rows that go on to the head.
    Outputs,
    /// Sequences in the batch.
    Sequences,
}

/// The counts of one run, or the largest that a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extents {
    /// Tokens in the batch.
    pub tokens: usize,
    /// Rows that go on to the head.
    pub outputs: usize,
    /// Sequences in the batch.
    pub sequences: usize,
}

impl Extents {
    /// The number that a symbol stands for.
    pub fn get(&self, symbol: Symbol) -> usize {
        match symbol {
            Symbol::Tokens => self.tokens,
            Symbol::Outputs => self.outputs,
            Symbol::Sequences => self.sequences,
        }
    }

    /// True if no count is above that of `capacity`.
    pub fn within(&self, capacity: &Extents) -> bool {
        self.tokens <= capacity.tokens
            && self.outputs <= capacity.outputs
            && self.sequences <= capacity.sequences
    }
}

/// One dimension: a number, or a number times a [`Symbol`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dim {
    /// Known when the graph is built.
    Fixed(usize),
    /// `times` x the symbol's count.
    Scaled {
        /// What is counted.
        symbol: Symbol,
        /// Elements for each.
        times: usize,
    },
}

impl Dim {
    /// The dimension in a run with these extents.
    pub fn evaluate(self, extents: &Extents) -> usize {
        match self {
            Dim::Fixed(n) => n,
            Dim::Scaled { symbol, times } => times * extents.get(symbol),
        }
    }

    /// The number, if it does not depend on the run.
    pub fn fixed(self) -> Option<usize> {
        match self {
            Dim::Fixed(n) => Some(n),
            Dim::Scaled { .. } => None,
        }
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::Fixed(n)
    }
}

impl From<Symbol> for Dim {
    fn from(symbol: Symbol) -> Dim {
        Dim::Scaled { symbol, times: 1 }
    }
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dim::Fixed(n) => write!(f, "{n}"),
            Dim::Scaled { symbol, times: 1 } => write!(f, "{symbol:?}"),
            Dim::Scaled { symbol, times } => write!(f, "{times}*{symbol:?}"),
        }
    }
}

/// Four dimensions, fastest first; missing ones are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape(pub [Dim; 4]);

impl Shape {
    /// A row of `n` elements.
    pub fn row(n: impl Into<Dim>) -> Shape {
        Shape([n.into(), Dim::Fixed(1), Dim::Fixed(1), Dim::Fixed(1)])
    }

    /// `rows` rows of `columns` elements.
    pub fn matrix(columns: impl Into<Dim>, rows: impl Into<Dim>) -> Shape {
        Shape([columns.into(), rows.into(), Dim::Fixed(1), Dim::Fixed(1)])
    }

    /// The dimensions in a run with these extents.
    pub fn evaluate(&self, extents: &Extents) -> [usize; 4] {
        self.0.map(|d| d.evaluate(extents))
    }

    /// Elements in a row: the fastest dimension, where it is a number.
    pub fn columns(&self) -> Option<usize> {
        self.0[0].fixed()
    }

    /// Rows in a run with these extents: the product of all dimensions but the fastest.
    pub fn rows(&self, extents: &Extents) -> usize {
        self.evaluate(extents)[1..].iter().product()
    }

    /// Bytes in a run with these extents.
    pub fn bytes(&self, dtype: DType, extents: &Extents) -> usize {
        let [columns, ..] = self.evaluate(extents);
        dtype.row_bytes(columns) * self.rows(extents)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = self.0.iter().rposition(|d| *d != Dim::Fixed(1)).unwrap_or(0);
        write!(f, "[")?;
        for (i, d) in self.0[..=used].iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { ", " } else { "" })?;
        }
        write!(f, "]")
    }
}
