//! Mixes of element types: which tensor of a model is stored in which type.

use gguf::ElementType;

use crate::Error;
use crate::preset::Preset;

/// A mix: its name, the type of most matrices, and its number in `general.file_type`.
pub struct Mix {
    pub name: &'static str,
    pub base: ElementType,
    pub file_type: u32,
}

const MIXES: &[Mix] = &[
    Mix { name: "F32", base: ElementType::F32, file_type: 0 },
    Mix { name: "F16", base: ElementType::F16, file_type: 1 },
    Mix { name: "BF16", base: ElementType::BF16, file_type: 32 },
    Mix { name: "Q4_0", base: ElementType::Q4_0, file_type: 2 },
    Mix { name: "Q4_1", base: ElementType::Q4_1, file_type: 3 },
    Mix { name: "Q8_0", base: ElementType::Q8_0, file_type: 7 },
];

/// The names of all mixes.
pub fn quants() -> impl Iterator<Item = &'static str> {
    MIXES.iter().map(|mix| mix.name)
}

/// The mix with this name, in capitals or not.
pub fn find(quant: &str) -> Result<&'static Mix, Error> {
    MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(quant)).ok_or_else(|| Error::Quant {
        quant: quant.to_owned(),
        known: quants().collect::<Vec<_>>().join(", "),
    })
}

/// What a matrix does, as far as mixes treat it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Token embeddings; with tied weights also the output matrix.
    Embedding,
    /// The output matrix.
    Output,
    /// Any matrix of a layer.
    Layer,
}

impl Mix {
    /// The type of a matrix with rows of `columns` elements.
    pub fn matrix(&self, kind: Kind, columns: u64, preset: &Preset) -> ElementType {
        if self.base.block_elements() == 1 {
            return self.base;
        }
        let output = kind == Kind::Output || (kind == Kind::Embedding && preset.tied);
        let mut ty = match output && self.base != ElementType::Q8_0 {
            true => ElementType::Q6_K,
            false => self.base,
        };
        while !columns.is_multiple_of(ty.block_elements()) {
            ty = fallback(ty);
        }
        ty
    }
}

/// The type used instead where rows are no multiple of a type's blocks.
fn fallback(ty: ElementType) -> ElementType {
    match ty {
        ElementType::Q6_K => ElementType::Q8_0,
        _ => ElementType::F16,
    }
}
