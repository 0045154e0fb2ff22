//! One space: its values in the plane of steps and addresses, and the bytes that live.

use std::fmt::Write;

use super::pen::{Anchor, Pen, short};
use super::{MARGIN, SIDE};
use crate::data::{Picture, SpaceUse, Step, Value};
use crate::kinds::Kinds;
use crate::rects::{Rect, rects};
use crate::text::xml;
use crate::units::{grouped, size, ticks};

/// Where the plane begins and how wide it is.
const LEFT: f64 = MARGIN + 68.0;
const ACROSS: f64 = SIDE - 40.0 - LEFT;
/// Heights of the plane and of the curve below it.
const UP: f64 = 540.0;
const CURVE: f64 = 120.0;
/// A number on the axis for every so many units.
const TICK: f64 = 90.0;

/// Draws the space if it holds anything, from `top` downwards; gives where it ends.
pub(crate) fn draw(pen: &mut Pen, picture: &Picture, kinds: &Kinds, space: usize, top: f64) -> f64 {
    let strategy = picture.strategies.get(picture.shown);
    let Some(used) = strategy.and_then(|s| s.spaces.get(space)).filter(|used| used.bytes > 0) else {
        return top;
    };
    let steps = picture.steps.len().max(1);
    let panel = Panel { picture, used, steps, plane: top + 44.0, curve: top + 44.0 + UP + 34.0 };

    let name = &picture.spaces[space].name;
    let reached = if used.proven { "reached: no plan needs less" } else { "not reached" };
    let bound = format!("{} planned, lower bound {} ({reached})", size(used.bytes), size(used.lower_bound));
    pen.text(LEFT, top + 12.0, Anchor::Start, "head", &format!("{name}: {bound}"));

    panel.layers(pen);
    panel.addresses(pen);
    for rect in rects(picture, picture.shown, space) {
        let value = &picture.values[rect.value];
        let class = format!("v {}", kinds.class(&value.kind));
        pen.rect(panel.place(&rect), &class, Some(&facts(picture, value)));
    }
    panel.live(pen);
    panel.peak(pen);
    panel.axis(pen)
}

struct Panel<'a> {
    picture: &'a Picture,
    used: &'a SpaceUse,
    steps: usize,
    /// Top of the plane and of the curve.
    plane: f64,
    curve: f64,
}

impl Panel<'_> {
    fn x(&self, step: usize) -> f64 {
        LEFT + ACROSS * step as f64 / self.steps as f64
    }

    /// How high so many bytes are in the plane.
    fn up(&self, bytes: u64) -> f64 {
        UP * (bytes as f64 / self.used.bytes as f64)
    }

    fn place(&self, rect: &Rect) -> (f64, f64, f64, f64) {
        let (x, high) = (self.x(rect.from), self.up(rect.bytes));
        (x, self.plane + UP - self.up(rect.offset) - high, self.x(rect.until) - x, high)
    }

    /// Bands of the layers, through plane and curve.
    fn layers(&self, pen: &mut Pen) {
        let mut at = 0;
        for (i, band) in self.picture.steps.chunk_by(|a, b| a.layer == b.layer).enumerate() {
            let (x, wide) = (self.x(at), self.x(at + band.len()) - self.x(at));
            at += band.len();
            let Some(layer) = band[0].layer else { continue };
            if i % 2 == 0 {
                pen.rect((x, self.plane - 20.0, wide, self.curve + CURVE - self.plane + 20.0), "band", None);
            }
            if wide >= 22.0 {
                pen.text(x + wide / 2.0, self.plane - 6.0, Anchor::Middle, "axis", &format!("L{layer}"));
            }
        }
    }

    fn addresses(&self, pen: &mut Pen) {
        for tick in ticks(self.used.bytes, 8, false) {
            let y = self.plane + UP - self.up(tick);
            pen.line((LEFT, y), (LEFT + ACROSS, y), "grid");
            pen.text(LEFT - 8.0, y + 4.0, Anchor::End, "axis", &size(tick));
        }
        pen.rect((LEFT, self.plane, ACROSS, UP), "frame", None);
    }

    /// The curve of live bytes under the line of the bound.
    fn live(&self, pen: &mut Pen) {
        let (bytes, bound) = (self.used.bytes, self.used.lower_bound);
        // A plan far above the bound would leave the curve no height.
        let scale = if bytes <= bound.saturating_mul(2) { bytes.max(bound) } else { bound };
        let scale = scale.max(1) as f64;
        let base = self.curve + CURVE;
        let y = |bytes: u64| base - CURVE * (bytes as f64 / scale).min(1.0);
        let mut edge = String::new();
        for (step, &bytes) in self.used.live.iter().enumerate().take(self.steps) {
            let start = if step == 0 { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(
                edge,
                "{start}{} {}H{}",
                short(self.x(step)),
                short(y(bytes)),
                short(self.x(step + 1))
            );
        }
        if !edge.is_empty() {
            let (left, end) = (short(LEFT), short(base));
            pen.path(&format!("{edge}V{end}H{left}Z"), "live");
            pen.path(&edge, "edge");
        }
        pen.line((LEFT, base), (LEFT + ACROSS, base), "grid");
        // At the end that the words on the peak leave free.
        let (end, anchor) =
            if self.peak_is_right() { (LEFT, Anchor::Start) } else { (LEFT + ACROSS, Anchor::End) };
        pen.text(end, self.curve - 10.0, anchor, "soft", "live bytes, lower bound");
        let bound = y(self.used.lower_bound);
        pen.line((LEFT, bound), (LEFT + ACROSS, bound), "bound");
        pen.text(LEFT - 8.0, bound + 4.0, Anchor::End, "axis peaktext", &size(self.used.lower_bound));
    }

    fn peak_is_right(&self) -> bool {
        self.used.bound_step > self.steps / 2
    }

    /// The step that sets the bound, through plane and curve.
    fn peak(&self, pen: &mut Pen) {
        let at = self.used.bound_step;
        let Some(step) = self.picture.steps.get(at) else { return };
        let x = (self.x(at) + self.x(at + 1)) / 2.0;
        pen.line((x, self.plane), (x, self.curve + CURVE), "peak");
        pen.path(&format!("M{} {}l-6 -9h12z", short(x), short(self.plane)), "peakmark");
        let label = format!("peak at step {at}, {}", step.name);
        let (shift, anchor) =
            if x > LEFT + ACROSS / 2.0 { (-8.0, Anchor::End) } else { (8.0, Anchor::Start) };
        pen.text(x + shift, self.curve - 10.0, anchor, "strong peaktext", &label);
    }

    fn axis(&self, pen: &mut Pen) -> f64 {
        let y = self.curve + CURVE + 18.0;
        let count = (ACROSS / TICK) as u64;
        for tick in ticks(self.steps as u64, count, true) {
            pen.text(self.x(tick as usize), y, Anchor::Middle, "axis", &tick.to_string());
        }
        pen.text(LEFT + ACROSS, y + 18.0, Anchor::End, "soft", "step");
        y + 50.0
    }
}

/// What there is to say of a value, escaped.
fn facts(picture: &Picture, value: &Value) -> String {
    let step = |at: usize| picture.steps.get(at).map_or("", |Step { name, .. }| name);
    let mut text = format!(
        "{}\n{} {}, made by {}\n{} ({} bytes)\nsteps {} to {}: {} to {}",
        xml(&value.name),
        xml(&value.shape),
        xml(&value.dtype),
        xml(&value.kind),
        size(value.bytes),
        grouped(value.bytes),
        value.first,
        value.last,
        xml(step(value.first)),
        xml(step(value.last)),
    );
    if let Some(before) = value.in_place_of.and_then(|i| picture.values.get(i)) {
        let _ = write!(text, "\nmay be made in place of {}", xml(&before.name));
    }
    text
}
