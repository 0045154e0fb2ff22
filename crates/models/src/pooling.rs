//! How a text's rows become one embedding, as files say it.

use crate::ModelError;
use crate::keys::Keys;

/// How a text's rows become one embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of all rows, those of special tokens too.
    Mean,
    /// The row of the first token.
    Cls,
    /// The row of the last token.
    Last,
    /// A score of relevance instead of an embedding, by a classifier on top.
    Rank,
}

impl Pooling {
    /// By the name that flags use.
    pub fn from_name(name: &str) -> Option<Pooling> {
        [Pooling::Mean, Pooling::Cls, Pooling::Last, Pooling::Rank].into_iter().find(|p| p.name() == name)
    }

    /// The name that flags use.
    pub fn name(self) -> &'static str {
        match self {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
            Pooling::Last => "last",
            Pooling::Rank => "rank",
        }
    }
}

/// What the file states; 0 and no key state nothing.
pub(crate) fn read(keys: &Keys) -> Result<Option<Pooling>, ModelError> {
    Ok(match keys.optional_count_or_zero("pooling_type")? {
        None => None,
        Some(1) => Some(Pooling::Mean),
        Some(2) => Some(Pooling::Cls),
        Some(3) => Some(Pooling::Last),
        Some(4) => Some(Pooling::Rank),
        Some(other) => return Err(keys.refuse("pooling_type", other, "0 to 4")),
    })
}
