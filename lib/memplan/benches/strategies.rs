//! All strategies side by side, on graphs like those of models and on files of lives:
//! `cargo bench -p memplan -- FILE...` (tables as the example `minimalloc` reads them).
//!
//! Of each strategy: its bytes as a multiple of the lower bound, and the microseconds that `plan` takes.

mod lives;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use memplan::{Life, Options, Overwrite, Pin, Problem, Space, SpaceId, Step, Strategy, Value, ValueId, plan};

const STRATEGIES: [Strategy; 4] = [Strategy::Naive, Strategy::SizeClass, Strategy::BestFit, Strategy::Packed];
const RAM: SpaceId = SpaceId(0);

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let mut problems = Vec::new();
    for (layers, tokens) in [(1, 1), (24, 1), (24, 64), (24, 512), (32, 440)] {
        problems.push((format!("model of {layers} layers, {tokens} tokens"), model(layers, tokens)));
    }
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        match text.and_then(|text| lives::parse(&text)) {
            Ok(lives) => {
                let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
                problems.push((name, problem_of(&lives)));
            }
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }

    let width = problems.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    print!("{:width$} {:>6} {:>11}", "", "values", "bound");
    STRATEGIES.iter().for_each(|strategy| print!(" | {:>9} {:>9}", format!("{strategy:?}"), "us"));
    println!();
    for (name, problem) in &problems {
        report(name, width, problem);
    }
    ExitCode::SUCCESS
}

fn report(name: &str, width: usize, problem: &Problem) {
    let planned = |strategy| plan(problem, &Options { strategy, in_place: true }).expect("there is a plan");
    // Of packing, so that all are compared with the same: naive has more storages and a bound of its own.
    let bound = planned(Strategy::Packed).spaces[0].lower_bound;
    print!("{name:width$} {:>6} {bound:>11}", problem.values.len());
    for strategy in STRATEGIES {
        let ratio = lives::ratio(planned(strategy).spaces[0].bytes, bound);
        print!(" | {ratio:>9.4} {:>9.1}", median_us(|| planned(strategy)));
    }
    println!();
}

/// The median of some runs, in microseconds.
fn median_us<T>(run: impl Fn() -> T) -> f64 {
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let begin = Instant::now();
            std::hint::black_box(run());
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// One value for each life, and steps only where something begins or ends.
fn problem_of(lives: &[Life]) -> Problem {
    let times: BTreeSet<u32> = lives.iter().flat_map(|life| [life.first, life.last]).collect();
    let times: Vec<u32> = times.into_iter().collect();
    let mut problem = empty(1);
    let mut steps: Vec<Step> = times.iter().map(|time| Step::new(time.to_string(), [], [])).collect();
    let at = |time: u32| times.partition_point(|&other| other < time);
    for (i, life) in lives.iter().enumerate() {
        let pin = if life.first == life.last { Pin::Scratch } else { Pin::None };
        let value = problem.add_value(Value::new(i.to_string(), life.bytes, RAM).pinned(pin));
        steps[at(life.first)].writes.push(value);
        if life.first < life.last {
            steps[at(life.last)].reads.push(value);
        }
    }
    problem.steps = steps;
    problem
}

fn empty(align: u64) -> Problem {
    let mut problem = Problem::default();
    problem.add_space(Space { name: "ram".into(), align, limit: None });
    problem
}

/// The steps of a decoder with grouped queries and a gated product, of the sizes of a model with 0.5 billion weights.
fn model(layers: usize, tokens: u64) -> Problem {
    let (width, keys, hidden) = (896, 128, 4864);
    let mut g = Graph { problem: empty(64), tokens };
    let mut x = g.problem.add_value(Value::new("x", 4 * width * tokens, RAM).pinned(Pin::Input));
    for _ in 0..layers {
        let normed = g.step("norm", width, &[x], &[]);
        let q = g.step("q", width, &[normed], &[]);
        let k = g.step("k", keys, &[normed], &[]);
        let v = g.step("v", keys, &[normed], &[]);
        let q = g.step("rotate q", width, &[q], &[q]);
        let k = g.step("rotate k", keys, &[k], &[k]);
        let attended = g.step("attend", width, &[q, k, v], &[q]);
        let out = g.step("out", width, &[attended], &[]);
        x = g.step("add", width, &[x, out], &[x, out]);
        let normed = g.step("norm", width, &[x], &[]);
        let gate = g.step("gate", hidden, &[normed], &[]);
        let up = g.step("up", hidden, &[normed], &[]);
        let gated = g.step("gated", hidden, &[gate, up], &[gate, up]);
        let down = g.step("down", width, &[gated], &[]);
        x = g.step("add", width, &[x, down], &[x, down]);
    }
    g.problem.values[x.index()].pin = Pin::Output;
    g.problem
}

struct Graph {
    problem: Problem,
    tokens: u64,
}

impl Graph {
    /// A step with one result of `columns` numbers a token, which may be made in place of some operands.
    fn step(&mut self, name: &str, columns: u64, reads: &[ValueId], in_place_of: &[ValueId]) -> ValueId {
        let write = self.problem.add_value(Value::new(name, 4 * columns * self.tokens, RAM));
        let step = Step::new(name, reads.iter().copied(), [write]);
        let overwrite = |step: Step, &read: &ValueId| step.overwriting(Overwrite { write, read });
        self.problem.add_step(in_place_of.iter().fold(step, overwrite));
        write
    }
}
