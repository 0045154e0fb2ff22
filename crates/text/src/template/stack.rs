//! Work on a stack of a known size, whoever calls.

use std::thread;

use super::TemplateError;

/// For the deepest values, expressions and calls that are let through: a debug build takes about half.
const STACK_BYTES: usize = 64 << 20;

/// Does the work on a stack of its own. What the work makes has to be dropped in it, but for what it returns.
pub(super) fn on_own_stack<T: Send>(
    work: impl FnOnce() -> Result<T, TemplateError> + Send,
) -> Result<T, TemplateError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let worker = worker.map_err(|error| TemplateError::no_stack(STACK_BYTES, &error))?;
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
