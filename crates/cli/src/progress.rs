//! Progress on standard error, once a wait exceeds a second; nothing where it is not a terminal.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that stays hidden until it is worth showing.
pub struct Progress {
    started: Instant,
    what: &'static str,
    template: &'static str,
    bar: Option<ProgressBar>,
    enabled: bool,
}

impl Progress {
    pub fn new(what: &'static str) -> Progress {
        Progress::with_template(what, "{msg} {wide_bar} {pos}/{len} {eta}")
    }

    /// What is counted are bytes: with the speed.
    pub fn of_bytes(what: &'static str) -> Progress {
        Progress::with_template(what, "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    }

    fn with_template(what: &'static str, template: &'static str) -> Progress {
        let enabled = std::io::stderr().is_terminal();
        Progress { started: Instant::now(), what, template, bar: None, enabled }
    }

    /// So much is done.
    pub fn set(&mut self, done: u64, total: u64) {
        if !self.enabled || (self.bar.is_none() && self.started.elapsed() < Duration::from_secs(1)) {
            return;
        }
        let (what, template) = (self.what, self.template);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.expect("the template is right"));
            bar.set_message(what);
            // What was there before counts for the length and not for the speed.
            bar.set_position(done);
            bar.reset_eta();
            bar
        });
        bar.set_length(total);
        bar.set_position(done);
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.enabled = false;
    }
}
