//! How positions turn queries and keys: base, pairs, factors in the file, stretching.

use graph::op::{RopePairs, RopeScaling};

use crate::keys::Keys;
use crate::{ModelError, Tensors};

/// Numbers in the file that divide the angles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeFactors {
    /// None.
    None,
    /// `rope_freqs`.
    Freqs,
    /// `rope_factors_long` where the context is longer than `original`, else `rope_factors_short`.
    LongShort {
        /// Positions that the model was first trained for.
        original: usize,
    },
}

impl RopeFactors {
    /// Whether a context of that length turns by the factors for long ones.
    pub fn is_long(self, n_ctx: usize) -> bool {
        matches!(self, RopeFactors::LongShort { original } if n_ctx > original)
    }

    /// The tensor to use in a context of that length.
    pub(crate) fn tensor(self, n_ctx: usize) -> Option<&'static str> {
        match self {
            RopeFactors::None => None,
            RopeFactors::Freqs => Some("rope_freqs.weight"),
            RopeFactors::LongShort { .. } if self.is_long(n_ctx) => Some("rope_factors_long.weight"),
            RopeFactors::LongShort { .. } => Some("rope_factors_short.weight"),
        }
    }
}

/// How positions turn queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Elements of a head that turn.
    pub rot: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// Which elements turn together.
    pub pairs: RopePairs,
    /// Numbers that divide the angles.
    pub factors: RopeFactors,
    /// Stretching.
    pub scaling: RopeScaling,
}

/// Kinds of stretching that a file or a user may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeScalingKind {
    /// None.
    None,
    /// All angles alike.
    Linear,
    /// Slow pairs more than fast ones.
    Yarn,
}

impl RopeScalingKind {
    /// By the name that files and flags use.
    pub fn from_name(name: &str) -> Option<RopeScalingKind> {
        match name {
            "none" => Some(RopeScalingKind::None),
            "linear" => Some(RopeScalingKind::Linear),
            "yarn" => Some(RopeScalingKind::Yarn),
            _ => None,
        }
    }
}

/// What a user wants otherwise than the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RopeOverrides {
    /// Kind of stretching.
    pub scaling: Option<RopeScalingKind>,
    /// Base of the frequencies; 0 and less are no override.
    pub freq_base: Option<f32>,
    /// What positions are multiplied by, 1 over the factor of the stretch.
    pub freq_scale: Option<f32>,
}

pub(crate) fn read(
    keys: &Keys,
    pairs: RopePairs,
    head_dim: usize,
    n_ctx_train: usize,
    tensors: &Tensors,
    overrides: &RopeOverrides,
) -> Result<Rope, ModelError> {
    let rot = keys.count_or("rope.dimension_count", head_dim)?;
    if rot > head_dim || !rot.is_multiple_of(2) {
        let expected = format!("an even number up to the length of a head, {head_dim}");
        return Err(keys.refuse("rope.dimension_count", rot, expected));
    }
    let stated = keys.positive_or("rope.freq_base", 10000.0)?;
    let has_factors = tensors.get("rope_freqs.weight").is_some();
    Ok(Rope {
        rot,
        base: overrides.freq_base.unwrap_or(stated),
        pairs,
        factors: if has_factors { RopeFactors::Freqs } else { RopeFactors::None },
        scaling: scaling(keys, n_ctx_train, overrides)?,
    })
}

fn scaling(keys: &Keys, n_ctx_train: usize, overrides: &RopeOverrides) -> Result<RopeScaling, ModelError> {
    let stated = match keys.string("rope.scaling.type")? {
        // Long factors are tensors of their own: the architecture reads them.
        None | Some("longrope") => RopeScalingKind::None,
        Some(name) => RopeScalingKind::from_name(name)
            .ok_or_else(|| keys.refuse("rope.scaling.type", name, "none, linear or yarn"))?,
    };
    // A factor without a kind is linear, as in older files.
    let factor = keys.positive_or("rope.scaling.factor", 1.0)?;
    let kind = match overrides.scaling {
        Some(kind) => kind,
        None if stated == RopeScalingKind::None && factor != 1.0 => RopeScalingKind::Linear,
        None if stated == RopeScalingKind::None && overrides.freq_scale.is_some() => RopeScalingKind::Linear,
        None => stated,
    };
    let freq_scale = overrides.freq_scale.unwrap_or(1.0 / factor);
    let attn_factor = keys.positive_or("rope.scaling.attn_factor", 1.0)?;
    let n_ctx_orig = keys.count_or("rope.scaling.original_context_length", n_ctx_train)?;
    let none = RopeScaling { attn_factor, n_ctx_orig, ..RopeScaling::NONE };
    Ok(match kind {
        RopeScalingKind::None => none,
        RopeScalingKind::Linear => RopeScaling { freq_scale, ..none },
        RopeScalingKind::Yarn => {
            // Longer distances make scores flatter: YaRN lengthens queries and keys against it.
            let length = 1.0 + 0.1 * f64::from(1.0 / freq_scale).ln();
            let attn_factor = (f64::from(attn_factor) * length) as f32;
            RopeScaling { freq_scale, ext_factor: 1.0, attn_factor, ..none }
        }
    })
}
