//! Results as a table, as Markdown, as CSV, as JSON.

use minfer::Profile;
use serde_json::{Value as Json, json};

use super::measure::{Test, median};
use crate::args::BenchOutput;

/// What was measured of one test.
pub struct Outcome {
    pub test: Test,
    /// Tokens a second of each run.
    pub all: Vec<f64>,
    pub memory: Json,
    /// Of one more run, where it was asked for.
    pub profile: Option<Profile>,
}

/// What the machine can do at most, where that was asked for.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    /// Bytes read a second.
    pub bandwidth: Option<f64>,
    /// Operations on bytes a second.
    pub int8: Option<f64>,
    /// The part of the mapped file on large pages: from small ones reading is slower.
    pub large_file_pages: Option<f64>,
}

impl Limits {
    /// The higher of both limits; the later state of the file.
    pub fn or_better(self, later: Limits) -> Limits {
        let higher = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Limits {
            bandwidth: higher(self.bandwidth, later.bandwidth),
            int8: higher(self.int8, later.int8),
            large_file_pages: later.large_file_pages,
        }
    }
}

impl Outcome {
    fn lowest(&self) -> f64 {
        self.all.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn highest(&self) -> f64 {
        self.all.iter().copied().fold(0.0, f64::max)
    }

    /// Bytes and operations for each token, from the profile.
    fn a_token(&self) -> Option<(f64, f64)> {
        let rows = &self.profile.as_ref()?.rows;
        let bytes: u64 = rows.values().map(|row| row.bytes).sum();
        let operations: u64 = rows.values().map(|row| row.operations).sum();
        let tokens = self.test.tokens_in_all() as f64;
        Some((bytes as f64 / tokens, operations as f64 / tokens))
    }

    /// The parts of the machine's bandwidth and of its peak that the median reaches.
    fn shares(&self, limits: &Limits) -> [Option<f64>; 2] {
        let (bytes, operations) = self.a_token().unzip();
        let speed = median(&self.all);
        let share = |a_token: Option<f64>, limit: Option<f64>| Some(a_token? * speed / limit?);
        [share(bytes, limits.bandwidth), share(operations, limits.int8)]
    }
}

pub fn to_json(outcomes: &[Outcome], limits: &Limits) -> Json {
    let row = |outcome: &Outcome| {
        let mut row = json!({
            "test": outcome.test.name(),
            "tokens_per_s": median(&outcome.all),
            "all": outcome.all,
            "memory": outcome.memory,
        });
        if limits.bandwidth.is_some() || limits.int8.is_some() {
            let [bandwidth, int8] = outcome.shares(limits);
            row["limits"] = json!({
                "bandwidth_bytes_per_s": limits.bandwidth,
                "int8_ops_per_s": limits.int8,
                "large_file_pages": limits.large_file_pages,
                "share_of_bandwidth": bandwidth,
                "share_of_int8": int8,
            });
        }
        if let Some(profile) = &outcome.profile {
            row["profile"] = profile_json(profile);
        }
        row
    };
    outcomes.iter().map(row).collect()
}

fn profile_json(profile: &Profile) -> Json {
    let row = |(label, row): (&String, &minfer::ProfileRow)| {
        json!({
            "operation": label,
            "calls": row.calls,
            "seconds": row.time.as_secs_f64(),
            "bytes": row.bytes,
            "operations": row.operations,
        })
    };
    profile.rows.iter().map(row).collect()
}

/// The lines of a table, its head first.
pub fn rows(outcomes: &[Outcome], limits: &Limits) -> Vec<Vec<String>> {
    let limited = limits.bandwidth.is_some() || limits.int8.is_some();
    let mut head = vec!["test", "tokens/s", "lowest", "highest"];
    if limited {
        head.extend(["of bandwidth", "of int8 peak"]);
    }
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for outcome in outcomes {
        let numbers = [median(&outcome.all), outcome.lowest(), outcome.highest()];
        let mut row = vec![outcome.test.name()];
        row.extend(numbers.map(|n| format!("{n:.1}")));
        if limited {
            let percent =
                |share: Option<f64>| share.map_or_else(String::new, |s| format!("{:.0} %", s * 100.0));
            row.extend(outcome.shares(limits).map(percent));
        }
        rows.push(row);
    }
    rows
}

/// Where the time of a test went, the longest first.
pub fn profile_rows(profile: &Profile) -> Vec<Vec<String>> {
    let whole: f64 = profile.rows.values().map(|row| row.time.as_secs_f64()).sum();
    let mut sorted: Vec<_> = profile.rows.iter().collect();
    sorted.sort_by_key(|(_, row)| std::cmp::Reverse(row.time));
    let head = ["operation", "calls", "ms", "share", "GB/s", "Gop/s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(sorted.into_iter().map(|(label, row)| {
        let seconds = row.time.as_secs_f64();
        let rate = |n: u64| {
            if n > 0 && seconds > 0.0 { format!("{:.1}", n as f64 / seconds / 1e9) } else { String::new() }
        };
        vec![
            label.clone(),
            row.calls.to_string(),
            format!("{:.2}", seconds * 1e3),
            format!("{:.1} %", 100.0 * seconds / whole),
            rate(row.bytes),
            rate(row.operations),
        ]
    }));
    rows
}

/// A table in the form that was asked for; the first column is text, the others are numbers.
pub fn table(rows: &[Vec<String>], output: BenchOutput) -> String {
    let columns = rows[0].len();
    let mut out = String::new();
    match output {
        BenchOutput::Csv => {
            for row in rows {
                out.push_str(&row.join(","));
                out.push('\n');
            }
        }
        BenchOutput::Md => {
            for (i, row) in rows.iter().enumerate() {
                out.push_str(&format!("| {} |\n", row.join(" | ")));
                if i == 0 {
                    out.push_str(&format!("|---|{}\n", "---:|".repeat(columns - 1)));
                }
            }
        }
        BenchOutput::Table | BenchOutput::Json => {
            let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
            let widths: Vec<usize> = (0..columns).map(width).collect();
            for row in rows {
                let mut line = format!("{:<1$}", row[0], widths[0]);
                for (cell, width) in row.iter().zip(&widths).skip(1) {
                    line.push_str(&format!("  {cell:>width$}"));
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_one_form_for_each_reader() {
        let rows = [["test", "tokens/s"], ["pp512", "1425.0"], ["tg64", "9.1"]];
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        assert_eq!(table(&rows, BenchOutput::Csv), "test,tokens/s\npp512,1425.0\ntg64,9.1\n");
        let md = "| test | tokens/s |\n|---|---:|\n| pp512 | 1425.0 |\n| tg64 | 9.1 |\n";
        assert_eq!(table(&rows, BenchOutput::Md), md);
        assert_eq!(table(&rows, BenchOutput::Table), "test   tokens/s\npp512    1425.0\ntg64        9.1\n");
    }
}
