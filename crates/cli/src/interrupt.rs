//! Ctrl-C: the first ends the answer, the second the process. A server takes SIGTERM for the same.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// The code of a process that was interrupted, as shells count: 128 and the number of the signal.
pub const EXIT_CODE: u8 = 130;

/// Whether the user interrupted the answer.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the first Ctrl-C is only noted.
    pub fn catch() -> Result<Interrupt> {
        let noted = Arc::new(AtomicBool::new(false));
        let flag = noted.clone();
        on_interrupt(flag, || ())?;
        Ok(Interrupt(noted))
    }

    /// An answer begins: Ctrl-C is only noted again.
    pub fn begin(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// An answer is over: with none to end, Ctrl-C ends the process.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// From now on the first Ctrl-C, or SIGTERM, does this and no more; the second ends the process.
pub fn on_first(act: impl Fn() + Clone + Send + 'static) -> Result<()> {
    let flag = Arc::<AtomicBool>::default();
    #[cfg(unix)]
    on_termination(flag.clone(), act.clone())?;
    on_interrupt(flag, act)
}

/// SIGTERM sets the flag and acts; where it is set, it ends the process.
#[cfg(unix)]
fn on_termination(flag: Arc<AtomicBool>, act: impl Fn() + Send + 'static) -> Result<()> {
    use signal_hook::consts::SIGTERM;
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM]).context("cannot catch SIGTERM")?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if flag.swap(true, Ordering::Relaxed) {
                process::exit(128 + SIGTERM);
            }
            act();
        }
    });
    Ok(())
}

/// Ctrl-C sets the flag and acts; where it is set, it ends the process.
fn on_interrupt(flag: Arc<AtomicBool>, act: impl Fn() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(EXIT_CODE.into());
        }
        act();
    })
    .context("cannot catch Ctrl-C")
}
