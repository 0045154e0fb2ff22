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
    embedded_texts: AtomicU64,
    embedded_tokens: AtomicU64,
    /// From a request to its first step.
    pub queue: Times,
    /// From a request to the first token of an answer.
    pub first_token: Times,
    /// From a token to the next of the same answer.
    pub between_tokens: Times,
}

/// Times, added.
#[derive(Debug, Default)]
pub(crate) struct Times {
    micros: AtomicU64,
    count: AtomicU64,
}

impl Times {
    pub fn add(&self, time: Duration) {
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Relaxed);
        self.count.fetch_add(1, Relaxed);
    }
}

impl Figures {
    pub fn responded(&self, status: u16) {
        *self.by_status.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    /// So many answers were given up.
    pub fn cancelled(&self, answers: u64) {
        self.cancelled.fetch_add(answers, Relaxed);
    }

    /// So many texts became embeddings, of so many tokens.
    pub fn embedded(&self, texts: usize, tokens: usize) {
        self.embedded_texts.fetch_add(texts as u64, Relaxed);
        self.embedded_tokens.fetch_add(tokens as u64, Relaxed);
    }

    /// All of it, in the text format of Prometheus.
    pub fn to_text(&self, stats: &Stats) -> String {
        let mut out = String::new();
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        let (running, waiting, kept) = (stats.running as u64, stats.waiting as u64, stats.kept as u64);
        gauge(&mut out, "requests_running", "Requests in the batches.", running);
        gauge(&mut out, "requests_waiting", "Requests in the queue.", waiting);
        gauge(&mut out, "sequences_kept", "Sequences kept for requests that begin alike.", kept);
        gauge(&mut out, "kv_bytes", "Bytes of the KV cache that are in use.", stats.kv_bytes_committed);
        gauge(&mut out, "kv_bytes_limit", "Bytes that the KV cache may take.", stats.kv_bytes_reserved);
        let counters = [
            ("tokens_computed", "Tokens computed, of prompts and answers.", stats.computed_tokens),
            ("tokens_cached", "Tokens of prompts that the cache had.", stats.cached_tokens),
            ("tokens_generated", "Tokens of answers.", stats.generated_tokens),
            (
                "answers_cancelled",
                "Answers given up: the client went away, or their time was over.",
                count(&self.cancelled),
            ),
            ("texts_embedded", "Texts that became embeddings.", count(&self.embedded_texts)),
            ("tokens_embedded", "Tokens of those texts.", count(&self.embedded_tokens)),
        ];
        for (name, help, value) in counters {
            let name = format!("{name}_total");
            head(&mut out, &name, "counter", help);
            line(&mut out, &name, value);
        }
        let summaries = [
            ("queue_seconds", "From a request to the first batch that it is part of.", &self.queue),
            ("first_token_seconds", "From a request to the first token of an answer.", &self.first_token),
            ("between_tokens_seconds", "From a token to the next of the same answer.", &self.between_tokens),
        ];
        for (name, help, times) in summaries {
            head(&mut out, name, "summary", help);
            line(&mut out, &format!("{name}_sum"), count(&times.micros) as f64 / 1e6);
            line(&mut out, &format!("{name}_count"), count(&times.count));
        }
        head(&mut out, "responses_total", "counter", "Responses by status.");
        for (status, count) in self.by_status.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            line(&mut out, &format!("responses_total{{status=\"{status}\"}}"), count);
        }
        out
    }
}

fn gauge(out: &mut String, name: &str, help: &str, value: u64) {
    head(out, name, "gauge", help);
    line(out, name, value);
}

// Writing to a string cannot fail.

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP minfer_{name} {help}\n# TYPE minfer_{name} {kind}");
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(out, "minfer_{name} {value}");
}
