//! What stands beside the panels: legend, values at the peak, budget, regions.

use super::pen::{Anchor, Pen};
use super::{MARGIN, SIDE, WIDTH};
use crate::data::{Picture, Region};
use crate::kinds::Kinds;
use crate::units::size;

const ACROSS: f64 = WIDTH - MARGIN - SIDE;
const LINE: f64 = 20.0;
/// Entries of a list that are written out.
const ENTRIES_MAX: usize = 10;
/// Regions that are written out: there are two for each layer of a model.
const REGIONS_MAX: usize = 4;

/// Draws all of it from `top` downwards; gives where it ends.
pub(crate) fn draw(pen: &mut Pen, picture: &Picture, kinds: &Kinds, top: f64) -> f64 {
    let y = legend(pen, kinds, top);
    let y = peaks(pen, picture, kinds, y);
    let y = budget(pen, picture, y);
    regions(pen, picture, y)
}

fn legend(pen: &mut Pen, kinds: &Kinds, top: f64) -> f64 {
    if kinds.legend.is_empty() {
        return top;
    }
    let y = head(pen, "made by", top);
    let rows = kinds.legend.len().div_ceil(2);
    for (i, (kind, class)) in kinds.legend.iter().enumerate() {
        let (x, y) = (SIDE + (i / rows) as f64 * ACROSS / 2.0, y + (i % rows) as f64 * LINE);
        pen.rect((x, y - 11.0, 13.0, 13.0), class, None);
        pen.text_within(x + 20.0, y, "", kind, 14);
    }
    y + rows as f64 * LINE + 22.0
}

/// For each space what holds its bound.
fn peaks(pen: &mut Pen, picture: &Picture, kinds: &Kinds, mut y: f64) -> f64 {
    let Some(strategy) = picture.strategies.get(picture.shown) else { return y };
    for (space, used) in picture.spaces.iter().zip(&strategy.spaces).filter(|(_, used)| used.bytes > 0) {
        y = head(pen, &format!("at the peak of {}", space.name), y);
        let values: Vec<_> = used.bound_values.iter().filter_map(|&v| picture.values.get(v)).collect();
        for value in values.iter().take(ENTRIES_MAX) {
            pen.rect((SIDE, y - 11.0, 13.0, 13.0), kinds.class(&value.kind), None);
            pen.text_within(SIDE + 20.0, y, "", &value.name, 24);
            pen.text(WIDTH - MARGIN, y, Anchor::End, "soft", &size(value.bytes));
            y += LINE;
        }
        y = more(pen, values.len(), ENTRIES_MAX, y) + 22.0;
    }
    y
}

/// One bar of all terms; a line where the limit is.
fn budget(pen: &mut Pen, picture: &Picture, top: f64) -> f64 {
    let budget = &picture.budget;
    let sum = budget.terms.iter().fold(0u64, |sum, term| sum.saturating_add(term.bytes));
    if sum == 0 && budget.limit.is_none() {
        return top;
    }
    let title = match budget.limit {
        Some(limit) if sum > limit => format!("budget: {} of {}, too much", size(sum), size(limit)),
        Some(limit) => format!("budget: {} of {}", size(sum), size(limit)),
        None => format!("memory: {}", size(sum)),
    };
    let mut y = head(pen, &title, top);
    let scale = sum.max(budget.limit.unwrap_or(0)).max(1) as f64;
    pen.rect((SIDE, y - 10.0, ACROSS, 16.0), "track", None);
    let mut x = SIDE;
    for (i, term) in budget.terms.iter().enumerate() {
        let wide = ACROSS * (term.bytes as f64 / scale);
        pen.rect((x, y - 10.0, wide, 16.0), &format!("v {}", colour(i)), None);
        x += wide;
    }
    if let Some(limit) = budget.limit {
        let x = SIDE + ACROSS * (limit as f64 / scale);
        pen.line((x, y - 15.0), (x, y + 11.0), "peak");
    }
    y += LINE + 10.0;
    for (i, term) in budget.terms.iter().enumerate().take(ENTRIES_MAX) {
        pen.rect((SIDE, y - 11.0, 13.0, 13.0), colour(i), None);
        pen.text_within(SIDE + 20.0, y, "", &term.label, 24);
        pen.text(WIDTH - MARGIN, y, Anchor::End, "soft", &size(term.bytes));
        y += LINE;
    }
    more(pen, budget.terms.len(), ENTRIES_MAX, y) + 22.0
}

/// Colour of a term of the budget, in turn.
fn colour(term: usize) -> &'static str {
    ["k0", "k1", "k2", "k4", "k5", "k7"][term % 6]
}

/// What is reserved as an empty bar, what is committed in it as a full one.
fn regions(pen: &mut Pen, picture: &Picture, top: f64) -> f64 {
    let all = &picture.regions;
    if all.is_empty() {
        return top;
    }
    let sum = |bytes: fn(&Region) -> u64| all.iter().map(bytes).fold(0u64, u64::saturating_add);
    let (committed, reserved) = (sum(|r| r.bytes_committed), sum(|r| r.bytes_reserved));
    let mut y = head(pen, "persistent regions", top);
    pen.text(SIDE, y, Anchor::Start, "soft", &format!("{} in use of {}", size(committed), size(reserved)));
    y += LINE + 4.0;
    let widest = all.iter().map(|r| r.bytes_reserved.max(r.bytes_committed)).max().unwrap_or(0).max(1) as f64;
    for region in all.iter().take(REGIONS_MAX) {
        pen.text_within(SIDE, y, "", &format!("{} ({})", region.name, region.device), 30);
        pen.text(WIDTH - MARGIN, y, Anchor::End, "soft", &size(region.bytes_committed));
        let wide = |bytes: u64| ACROSS * (bytes as f64 / widest);
        pen.rect((SIDE, y + 5.0, wide(region.bytes_reserved), 5.0), "track", None);
        pen.rect((SIDE, y + 5.0, wide(region.bytes_committed), 5.0), "k2", None);
        y += LINE + 10.0;
    }
    more(pen, all.len(), REGIONS_MAX, y)
}

fn head(pen: &mut Pen, text: &str, y: f64) -> f64 {
    pen.text_within(SIDE, y + 12.0, "head", text, 36);
    y + 38.0
}

/// Says how many entries of a list are not written out.
fn more(pen: &mut Pen, count: usize, written: usize, y: f64) -> f64 {
    if count <= written {
        return y;
    }
    pen.text(SIDE, y, Anchor::Start, "soft", &format!("and {} more", count - written));
    y + LINE
}
