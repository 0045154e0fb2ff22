//! What the server has done, for those who watch it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use minfer::Stats;

/// Counts since the beginning.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    by_status: Mutex<BTreeMap<u16, u64>>,
    cancelled: AtomicU64,
    first_token_micros: AtomicU64,
    first_tokens: AtomicU64,
}

impl Figures {
    pub fn responded(&self, status: u16) {
        *self.by_status.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    /// So many answers were given up by their clients.
    pub fn cancelled(&self, answers: u64) {
        self.cancelled.fetch_add(answers, Relaxed);
    }

    /// An answer's first token came so long after its request.
    pub fn first_token(&self, after: Duration) {
        self.first_token_micros.fetch_add(u64::try_from(after.as_micros()).unwrap_or(u64::MAX), Relaxed);
        self.first_tokens.fetch_add(1, Relaxed);
    }

    /// All of it, in the text format of Prometheus.
    pub fn to_text(&self, stats: &Stats) -> String {
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "# HELP minfer_{name} {help}\n# TYPE minfer_{name} {kind}\nminfer_{name} {value}"
            );
        };
        metric("requests_running", "gauge", "Requests in the batches.", stats.running.to_string());
        metric("requests_waiting", "gauge", "Requests in the queue.", stats.waiting.to_string());
        metric(
            "sequences_kept",
            "gauge",
            "Sequences kept for requests that begin alike.",
            stats.kept.to_string(),
        );
        metric(
            "kv_bytes",
            "gauge",
            "Bytes of the KV cache that are in use.",
            stats.kv_bytes_committed.to_string(),
        );
        let reserved = stats.kv_bytes_reserved.to_string();
        metric("kv_bytes_limit", "gauge", "Bytes that the KV cache may take.", reserved);
        let computed = stats.computed_tokens.to_string();
        metric("tokens_computed_total", "counter", "Tokens computed, of prompts and answers.", computed);
        let cached = stats.cached_tokens.to_string();
        metric("tokens_cached_total", "counter", "Tokens of prompts that the cache had.", cached);
        metric("tokens_generated_total", "counter", "Tokens of answers.", stats.generated_tokens.to_string());
        let cancelled = self.cancelled.load(Relaxed).to_string();
        metric(
            "answers_cancelled_total",
            "counter",
            "Answers given up: the client went away, or their time was over.",
            cancelled,
        );
        let seconds = self.first_token_micros.load(Relaxed) as f64 / 1e6;
        let first = "first_token_seconds";
        let count = self.first_tokens.load(Relaxed);
        let summary = format!("minfer_{first}_sum {seconds}\nminfer_{first}_count {count}");
        let _ = writeln!(
            out,
            "# HELP minfer_{first} From a request to the first token of an answer.\n# TYPE minfer_{first} summary\n{summary}"
        );
        out.push_str(
            "# HELP minfer_responses_total Responses by status.\n# TYPE minfer_responses_total counter\n",
        );
        for (status, count) in self.by_status.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(out, "minfer_responses_total{{status=\"{status}\"}} {count}");
        }
        out
    }
}
