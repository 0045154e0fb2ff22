//! How long the context is: decided once, the same number for prompt and answer.

/// The context that a run gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextChoice {
    /// Positions.
    pub n_ctx: usize,
    /// What was asked for, if the model was trained for less.
    pub clamped_from: Option<usize>,
}

/// Positions without a request.
const DEFAULT: usize = 4096;

/// `asked`: an explicit size, 0 for what the model was trained for. Without it, 4096, or what a one-shot run
/// needs if that is more. Never more than the model was trained for.
pub fn choose_context(asked: Option<usize>, needed: usize, trained: usize) -> ContextChoice {
    let wanted = match asked {
        Some(0) => trained,
        Some(n) => n,
        None => DEFAULT.max(needed).min(trained),
    };
    let n_ctx = wanted.min(trained);
    ContextChoice { n_ctx, clamped_from: (wanted > n_ctx).then_some(wanted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_explicit_or_what_is_needed_and_never_beyond_training() {
        let plain = |n_ctx| ContextChoice { n_ctx, clamped_from: None };
        assert_eq!(choose_context(None, 10, 8192), plain(4096));
        assert_eq!(choose_context(None, 5000, 8192), plain(5000));
        assert_eq!(choose_context(None, 9000, 8192), plain(8192));
        assert_eq!(choose_context(None, 10, 1024), plain(1024));
        assert_eq!(choose_context(Some(0), 10, 8192), plain(8192));
        assert_eq!(choose_context(Some(64), 100, 8192), plain(64));
        let clamped = ContextChoice { n_ctx: 8192, clamped_from: Some(9000) };
        assert_eq!(choose_context(Some(9000), 10, 8192), clamped);
    }
}
