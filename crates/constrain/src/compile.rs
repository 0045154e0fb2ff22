//! Grammars to parsers.

use std::thread;

use llguidance::TokenParser;
use llguidance::api::TopLevelGrammar;

use crate::matcher::told;
use crate::{ConstrainError, Vocabulary, limits};

/// Compiles on a thread of its own, whose stack holds whatever the limits let through. `refused` makes the error of
/// what is wrong with the source.
pub(crate) fn compile(
    vocabulary: &Vocabulary,
    grammar: TopLevelGrammar,
    refused: impl FnOnce(String) -> ConstrainError,
) -> Result<TokenParser, ConstrainError> {
    let result = thread::scope(|scope| {
        let thread = thread::Builder::new().name("constrain".to_owned()).stack_size(limits::COMPILE_STACK);
        let made = thread.spawn_scoped(scope, || vocabulary.factory().create_parser(grammar));
        let joined =
            made.map_err(|error| ConstrainError::TooComplex(format!("no thread to compile on: {error}")));
        joined.map(|thread| thread.join())
    })?;
    match result {
        Ok(Ok(parser)) => Ok(parser),
        Ok(Err(error)) => Err(refused(told(&format!("{error:#}")))),
        Err(_) => Err(refused("the compiler failed".to_owned())),
    }
}
