//! What an output is to obey.

use std::fmt;
use std::sync::Arc;

use llguidance::TokenParser;
use llguidance::api::TopLevelGrammar;
use serde_json::Value as Json;

use crate::compile::compile;
use crate::{ConstrainError, Matcher, Vocabulary, lark, regex, schema};

/// What an output is to obey, compiled for a vocabulary. Cheap to clone.
#[derive(Clone)]
pub struct Constraint(Arc<Inner>);

struct Inner {
    vocabulary: Arc<Vocabulary>,
    /// At the start of an output; copied for each.
    parser: TokenParser,
}

impl Constraint {
    /// JSON that obeys a schema. The error names the part that cannot be enforced.
    pub fn json_schema(vocabulary: &Arc<Vocabulary>, schema: &Json) -> Result<Constraint, ConstrainError> {
        Ok(Constraint::new(vocabulary, schema::compile(vocabulary, schema)?))
    }

    /// Any JSON object.
    pub fn json_object(vocabulary: &Arc<Vocabulary>) -> Result<Constraint, ConstrainError> {
        Constraint::json_schema(vocabulary, &serde_json::json!({"type": "object"}))
    }

    /// Text that a regular expression matches as a whole. The syntax is that of the crate `regex`, without word boundaries;
    /// anchors at the ends are allowed and change nothing.
    pub fn regex(vocabulary: &Arc<Vocabulary>, pattern: &str) -> Result<Constraint, ConstrainError> {
        regex::check(pattern)?;
        let parser = compile(vocabulary, TopLevelGrammar::from_regex(pattern), ConstrainError::Regex)?;
        Ok(Constraint::new(vocabulary, parser))
    }

    /// Text of the language of a grammar in the Lark dialect of `llguidance`, from its rule `start`. Schemas in it
    /// (`%json {...}`) are enforced or refused as in [`Constraint::json_schema`].
    pub fn lark(vocabulary: &Arc<Vocabulary>, grammar: &str) -> Result<Constraint, ConstrainError> {
        let grammar = lark::prepare(grammar)?;
        let parser = compile(vocabulary, TopLevelGrammar::from_lark(grammar), ConstrainError::Grammar)?;
        Ok(Constraint::new(vocabulary, parser))
    }

    /// A place at the start of an output.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone())
    }

    /// The vocabulary that it was compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.0.vocabulary
    }

    pub(crate) fn parser(&self) -> &TokenParser {
        &self.0.parser
    }

    fn new(vocabulary: &Arc<Vocabulary>, parser: TokenParser) -> Constraint {
        Constraint(Arc::new(Inner { vocabulary: vocabulary.clone(), parser }))
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").field("vocabulary", &self.0.vocabulary).finish_non_exhaustive()
    }
}
