//! One output's place in a constraint.

use std::sync::Arc;

use llguidance::toktrie::SimpleVob;

use crate::{ConstrainError, Constraint, Mask, Vocabulary};

/// Where one output is: what may follow, token by token. A clone goes on by itself.
#[derive(Clone)]
pub struct Matcher {
    constraint: Constraint,
    inner: llguidance::Matcher,
    /// What may follow, if it was asked for since the last token.
    mask: Option<Mask>,
    finished: bool,
}

impl Matcher {
    pub(crate) fn new(constraint: Constraint) -> Matcher {
        let inner = llguidance::Matcher::new(Ok(constraint.parser().deep_clone()));
        // An empty language's only output is complete at once.
        let finished = inner.is_stopped();
        Matcher { constraint, inner, mask: None, finished }
    }

    /// The tokens that may come next: at least one. Tokens that end a generation are among them if the output may
    /// end here, and nothing else is once it is finished.
    ///
    /// Computed when first asked for and kept until the next token: tens of microseconds, some milliseconds at most.
    /// Fails where no token of the vocabulary goes on, or where the grammar takes too much work here.
    pub fn mask(&mut self) -> Result<&Mask, ConstrainError> {
        if self.mask.is_none() {
            let n_tokens = self.vocabulary().n_tokens();
            self.mask = Some(Mask::new(self.compute()?, n_tokens));
        }
        Ok(self.mask.as_ref().expect("computed above"))
    }

    fn compute(&mut self) -> Result<SimpleVob, ConstrainError> {
        let vocabulary = self.constraint.vocabulary().clone();
        let ends = vocabulary.ends();
        if self.finished {
            let mut bits = SimpleVob::alloc(vocabulary.n_tokens());
            ends.iter().for_each(|end| bits.allow_token(*end));
            return Ok(bits);
        }
        let may_end = self.may_end()?;
        let mut bits = match self.inner.compute_mask() {
            Ok(bits) => bits,
            // The output may end here, and the vocabulary has no token that says so.
            Err(error) if may_end && is_dead_end(&error.to_string()) => {
                self.finished = true;
                return Ok(SimpleVob::alloc(vocabulary.n_tokens()));
            }
            Err(error) => return Err(failure(&error.to_string())),
        };
        // A grammar can name tokens by number, control tokens too.
        let words: Vec<u32> = bits.iter().filter(|token| !vocabulary.is_text(*token)).collect();
        words.into_iter().for_each(|token| bits.disallow_token(token));
        if may_end {
            ends.iter().for_each(|end| bits.allow_token(*end));
        }
        if bits.is_zero() && !may_end {
            return Err(ConstrainError::DeadEnd("only control tokens would go on".to_owned()));
        }
        Ok(bits)
    }

    /// Takes the token that comes next. One that the mask does not allow is an error and changes nothing.
    pub fn advance(&mut self, token: u32) -> Result<(), ConstrainError> {
        if !self.mask()?.allows(token) {
            return Err(ConstrainError::NotAllowed { token });
        }
        self.mask = None;
        if self.constraint.vocabulary().ends().contains(&token) {
            self.finished = true;
            return Ok(());
        }
        self.inner.consume_token(token).map_err(|error| failure(&error.to_string()))?;
        self.finished = self.inner.is_stopped();
        Ok(())
    }

    /// Whether the output is complete and nothing can follow but an end.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether the output is complete as it is; more may follow.
    pub fn may_end(&mut self) -> Result<bool, ConstrainError> {
        if self.finished {
            return Ok(true);
        }
        self.inner.is_accepting().map_err(|error| failure(&error.to_string()))
    }

    /// Back to the start.
    pub fn reset(&mut self) {
        *self = self.constraint.matcher();
    }

    /// What the output obeys.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    /// The tokens that it is made of.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.constraint.vocabulary()
    }
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher")
            .field("constraint", &self.constraint)
            .field("finished", &self.finished)
            .finish()
    }
}

/// Why the engine stopped where nothing follows.
fn is_dead_end(message: &str) -> bool {
    message.contains("NoExtensionBias")
}

fn failure(message: &str) -> ConstrainError {
    if is_dead_end(message) {
        return ConstrainError::DeadEnd("the grammar asks for bytes that no token has".to_owned());
    }
    ConstrainError::TooComplex(told(message))
}

/// The engine's message on one line, without the backtraces and states that it may go on with.
pub(crate) fn told(message: &str) -> String {
    let lines = message.lines().take_while(|line| !line.starts_with('<')).map(str::trim);
    let line = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(400).collect()
}
