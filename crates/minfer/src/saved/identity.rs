//! What the numbers of a cache depend on beside the tokens.

use gguf::GgufFile;
use graph::DType;
use models::{Config, RopeOverrides, RopeScalingKind};
use sha2::{Digest, Sha256};

use super::SavedError;
use crate::Session;

/// Bytes that are hashed at the beginning, in the middle and at the end of each tensor.
const SAMPLE: usize = 1024;

/// What the numbers of a cache depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// [`cpu::NUMERICS_VERSION`] of who computed them.
    pub numerics: u32,
    /// Name of keys' type.
    pub type_k: [u8; 8],
    /// Name of values' type.
    pub type_v: [u8; 8],
    /// 1 where the weights were dequantized.
    pub mode: u32,
    pub rotation: [u32; 4],
    /// [`model_hash`].
    pub model: [u8; 32],
    /// What people call the model: for messages, never compared.
    pub name: [u8; 48],
}

impl Identity {
    pub fn of(session: &Session) -> Identity {
        let (model, params) = (&session.model, session.engine.params());
        Identity {
            numerics: cpu::NUMERICS_VERSION,
            type_k: padded(params.body.type_k.name()),
            type_v: padded(params.body.type_v.name()),
            mode: session.options.reference.into(),
            rotation: rotation(&model.rope, model.config(), params.body.n_ctx),
            model: model.hash(),
            name: padded(&model.name()),
        }
    }

    /// Says in what a file differs from what a session has, if it does.
    pub fn check(&self, session: &Session) -> Result<(), SavedError> {
        let ours = Identity::of(session);
        if self.numerics != ours.numerics {
            return Err(SavedError::Numerics { found: self.numerics, expected: ours.numerics });
        }
        if self.model != ours.model {
            return Err(SavedError::Model {
                found_name: text(&self.name),
                found: digits(&self.model),
                expected_name: text(&ours.name),
                expected: digits(&ours.model),
            });
        }
        if self.mode != ours.mode {
            let mode = |mode| if mode == 0 { "quantized" } else { "reference" };
            return Err(SavedError::Mode { found: mode(self.mode), expected: mode(ours.mode) });
        }
        if self.rotation != ours.rotation {
            let (found, expected) = (rotation_text(&self.rotation), rotation_text(&ours.rotation));
            return Err(SavedError::Rotation { found, expected });
        }
        let body = session.engine.params().body;
        let types: [(_, _, _, DType); 2] = [
            ("keys", self.type_k, ours.type_k, body.type_k),
            ("values", self.type_v, ours.type_v, body.type_v),
        ];
        match types.into_iter().find(|(_, found, expected, _)| found != expected) {
            Some((what, found, _, expected)) => {
                Err(SavedError::CacheType { what, found: text(&found).escape_debug().to_string(), expected })
            }
            None => Ok(()),
        }
    }
}

/// A model by its bytes: all of the header (with the table of tensors), and samples of each tensor. What differs in other
/// bytes of the weights alone is taken for the same model.
pub(crate) fn model_hash(file: &GgufFile) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in 0..file.parts() {
        hasher.update((file.header(part).len() as u64).to_le_bytes());
        hasher.update(file.header(part));
    }
    for info in file.tensors() {
        let data = file.data(info);
        let last = data.len().saturating_sub(SAMPLE);
        for from in [0, last / 2, last] {
            hasher.update(&data[from..data.len().min(from + SAMPLE)]);
        }
    }
    hasher.finalize().into()
}

/// What the user said of rotations, and whether the long factors of the file are in use, which the context decides.
fn rotation(rope: &RopeOverrides, config: &Config, n_ctx: usize) -> [u32; 4] {
    let scaling = match rope.scaling {
        None => 0,
        Some(RopeScalingKind::None) => 1,
        Some(RopeScalingKind::Linear) => 2,
        Some(RopeScalingKind::Yarn) => 3,
    };
    // No finite number has the bits of the missing one.
    let bits = |number: Option<f32>| number.map_or(u32::MAX, f32::to_bits);
    [scaling, bits(rope.freq_base), bits(rope.freq_scale), config.rope.factors.is_long(n_ctx).into()]
}

/// The same in words. The numbers may be any.
fn rotation_text(rotation: &[u32; 4]) -> String {
    let [scaling, base, scale, long] = *rotation;
    let scaling = match scaling {
        0 => "as in the file",
        1 => "none",
        2 => "linear",
        3 => "yarn",
        _ => "unknown",
    };
    let number = |bits: u32| match bits {
        u32::MAX => "as in the file".to_owned(),
        bits => f32::from_bits(bits).to_string(),
    };
    let factors = if long == 0 { "" } else { ", factors for long contexts" };
    format!("scaling {scaling}, frequency base {}, frequency scale {}{factors}", number(base), number(scale))
}

/// A text at the beginning of so many bytes, cut where a character ends, and zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let text = &text[..text.floor_char_boundary(N)];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// As much of a hash as tells two apart for people.
pub(super) fn digits(hash: &[u8]) -> String {
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
