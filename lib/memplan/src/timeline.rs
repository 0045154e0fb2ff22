//! A picture of a plan in characters.

use std::fmt::Write;

use crate::plan::{Plan, Storage};
use crate::problem::{Problem, SpaceId};

/// Columns of a picture at most; longer programs have several steps a column.
const COLUMNS: usize = 96;
/// Rows of a picture.
const ROWS: usize = 24;
/// What storages are drawn with, in turn.
const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Draws each space that holds anything: steps from left to right, offsets upwards, a character for each storage and a dot
/// where nothing lives. A character that stands for several storages shows the one with most bytes times steps in it.
/// Below it are the step of the lower bound (`^`) and what lives there.
///
/// The text is for people; its layout may change. Ids of the plan that the problem does not have are left out.
pub fn timeline(problem: &Problem, plan: &Plan) -> String {
    let mut text = String::new();
    for s in 0..problem.spaces.len().min(plan.spaces.len()) {
        if plan.spaces[s].bytes > 0 {
            draw(&mut text, problem, plan, SpaceId::new(s));
        }
    }
    text
}

fn draw(text: &mut String, problem: &Problem, plan: &Plan, space: SpaceId) {
    let report = &plan.spaces[space.index()];
    let steps = problem.steps.len().max(1);
    let columns = steps.min(COLUMNS);
    let proven = if report.proven { "proven" } else { "not reached" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {} bytes, lower bound {} ({proven}), naive {}, {steps} steps",
        problem.spaces[space.index()].name,
        report.bytes,
        report.lower_bound,
        report.naive
    );

    let mut grid = Grid::new(columns, steps as u64, report.bytes);
    for (i, storage) in plan.storages.iter().enumerate().filter(|(_, storage)| storage.space == space) {
        grid.fill(i, storage);
    }
    for row in (0..ROWS).rev() {
        let cells = &grid.cells[row * columns..(row + 1) * columns];
        let line: String =
            cells.iter().map(|&(area, storage)| if area == 0 { '.' } else { mark(storage) }).collect();
        let _ = writeln!(text, "{:>14} {line}", edge(row as u64, ROWS as u64, report.bytes));
    }

    let column =
        (0..columns).rfind(|&c| edge(c as u64, columns as u64, steps as u64) <= report.bound_step.0.into());
    let step = problem.steps.get(report.bound_step.index()).map_or("", |step| step.name.as_str());
    let _ = writeln!(
        text,
        "{:>14} {:>width$} step {} {step}",
        "",
        "^",
        report.bound_step,
        width = column.unwrap_or(0) + 1
    );
    for &value in &report.bound_values {
        let (Some(placement), Some(named)) = (plan.placement(value), problem.values.get(value.index()))
        else {
            continue;
        };
        let Some(storage) = plan.storages.get(placement.storage.index()) else { continue };
        let Storage { bytes, first, last, .. } = storage;
        let mark = mark(placement.storage.index());
        let _ = writeln!(text, "{mark:>14} {}: {bytes} bytes, steps {first} to {last}", named.name);
    }
}

fn mark(storage: usize) -> char {
    MARKS[storage % MARKS.len()].into()
}

/// Where part `part` of `parts` begins in something of length `length`.
fn edge(part: u64, parts: u64, length: u64) -> u64 {
    // Not more than the length, so it fits again.
    (u128::from(part) * u128::from(length) / u128::from(parts)) as u64
}

struct Grid {
    columns: usize,
    steps: u64,
    bytes: u64,
    /// By row, then column: the largest area in the cell in bytes times steps, and the storage that has it.
    cells: Vec<(u128, usize)>,
}

impl Grid {
    fn new(columns: usize, steps: u64, bytes: u64) -> Self {
        Self { columns, steps, bytes, cells: vec![(0, 0); columns * ROWS] }
    }

    fn fill(&mut self, id: usize, storage: &Storage) {
        let top = storage.offset.saturating_add(storage.bytes);
        let after = u64::from(storage.last) + 1;
        for row in 0..ROWS {
            let high = common(storage.offset, top, row, ROWS, self.bytes);
            for column in (0..self.columns).filter(|_| high > 0) {
                let wide = common(storage.first.into(), after, column, self.columns, self.steps);
                let area = u128::from(high) * u128::from(wide);
                let cell = &mut self.cells[row * self.columns + column];
                if area > cell.0 {
                    *cell = (area, id);
                }
            }
        }
    }
}

/// How much of `start..end` lies in part `part` of `parts` of something of length `length`.
fn common(start: u64, end: u64, part: usize, parts: usize, length: u64) -> u64 {
    let low = start.max(edge(part as u64, parts as u64, length));
    let high = end.min(edge(part as u64 + 1, parts as u64, length));
    high.saturating_sub(low)
}
