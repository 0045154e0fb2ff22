//! Regular expressions that people write: checked before they are compiled.

use regex_syntax::ast::{self, AssertionKind, Ast};

use crate::{ConstrainError, limits};

/// Refuses what the automaton could not hold, with the place of the fault.
pub(crate) fn check(pattern: &str) -> Result<(), ConstrainError> {
    let ast = parse(pattern).map_err(ConstrainError::Regex)?;
    ast::visit(&ast, Check).map_err(ConstrainError::Regex)
}

/// The parts of an expression, if it is one and not too large.
pub(crate) fn parse(pattern: &str) -> Result<Ast, String> {
    if pattern.len() > limits::REGEX_BYTES {
        return Err(format!("{} bytes, expected {} at most", pattern.len(), limits::REGEX_BYTES));
    }
    let mut parser = ast::parse::ParserBuilder::new().nest_limit(limits::REGEX_DEPTH as u32).build();
    parser.parse(pattern).map_err(|error| {
        let at = pattern[..error.span().start.offset].chars().count();
        format!("{} at character {}", error.kind(), at + 1)
    })
}

struct Check;

impl ast::Visitor for Check {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        match ast {
            Ast::Assertion(assertion) if !is_anchor(&assertion.kind) => Err(format!(
                "an assertion at character {}: only ^ and $ are supported",
                ast.span().start.column
            )),
            _ => Ok(()),
        }
    }
}

/// The start or end of the text.
pub(crate) fn is_anchor(kind: &AssertionKind) -> bool {
    matches!(kind, AssertionKind::StartLine | AssertionKind::EndLine)
}
