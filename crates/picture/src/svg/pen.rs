//! Writes the elements.

use std::fmt::Write;

use crate::text::{shown, xml};

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What was drawn so far.
#[derive(Default)]
pub(crate) struct Pen {
    pub out: String,
}

// Writing to a string cannot fail, so no result is looked at.
impl Pen {
    /// A rectangle as x, y, width, height; `title` is its tooltip, not yet escaped.
    pub fn rect(&mut self, (x, y, width, height): (f64, f64, f64, f64), class: &str, title: Option<&str>) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            short(x),
            short(y),
            short(width),
            short(height)
        );
        let _ = match title {
            Some(title) => writeln!(self.out, "><title>{title}</title></rect>"),
            None => writeln!(self.out, "/>"),
        };
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(short);
        let _ =
            writeln!(self.out, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    pub fn path(&mut self, d: &str, class: &str) {
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (short(x), short(y));
        let _ =
            writeln!(self.out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", xml(text));
    }

    /// A text of at most `max` characters, the whole of it as a tooltip if it had to be cut.
    pub fn text_within(&mut self, x: f64, y: f64, class: &str, text: &str, max: usize) {
        let whole = shown(text);
        if whole.chars().count() <= max {
            return self.text(x, y, Anchor::Start, class, text);
        }
        let cut: String = whole.chars().take(max.saturating_sub(1)).collect();
        let (x, y) = (short(x), short(y));
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"><title>{}</title>{}…</text>",
            xml(text),
            xml(&cut)
        );
    }
}

/// A coordinate with two digits behind the point at most.
pub(crate) fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
