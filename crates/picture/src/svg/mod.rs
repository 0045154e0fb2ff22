//! The static picture.

mod panel;
mod pen;
mod side;

use crate::data::Picture;
use crate::kinds::{Kinds, properties};
use crate::text::xml;
use crate::units::size;
use pen::{Anchor, Pen};

/// Width of the picture, in its own units.
const WIDTH: f64 = 1600.0;
/// Empty border.
const MARGIN: f64 = 32.0;
/// Where the column beside the panels begins.
const SIDE: f64 = 1304.0;
/// Settings that are written out.
const SETTINGS_MAX: usize = 6;

/// The picture of the strategy that is shown: a panel for each space that holds anything, beside them the legend, the
/// values that hold the peak, the budget and the regions. Every rectangle has its value's facts as a tooltip.
pub fn svg(picture: &Picture) -> String {
    let kinds = Kinds::of(picture);
    let mut pen = Pen::default();
    let top = heading(&mut pen, picture);

    let mut left = top;
    for space in 0..picture.spaces.len() {
        left = panel::draw(&mut pen, picture, &kinds, space, left);
    }
    let right = side::draw(&mut pen, picture, &kinds, top);
    let height = left.max(right) + MARGIN;

    let (light, dark) = properties();
    let title = xml(&picture.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"Memory plan: {title}\">\n<style>\n\
         svg{{{light}{STYLE_LIGHT}}}\n@media (prefers-color-scheme:dark){{svg{{{dark}{STYLE_DARK}}}}}\n{STYLE}{fills}</style>\n\
         <defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect width=\"5\" height=\"5\" fill=\"var(--tmp)\" opacity=\".45\"/><rect width=\"2\" height=\"5\" fill=\"var(--tmp)\"/></pattern></defs>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n{body}</svg>\n",
        fills = fills(),
        body = pen.out,
    )
}

/// Title, settings and the main figures; gives where it ends.
fn heading(pen: &mut Pen, picture: &Picture) -> f64 {
    let mut y = MARGIN + 22.0;
    pen.text(MARGIN, y, Anchor::Start, "title", &picture.title);
    for line in picture.settings.iter().take(SETTINGS_MAX) {
        y += 20.0;
        pen.text(MARGIN, y, Anchor::Start, "soft", line);
    }
    let mut x = MARGIN;
    y += 42.0;
    for (i, strategy) in picture.strategies.iter().enumerate() {
        let bytes = strategy.spaces.iter().fold(0u64, |sum, used| sum.saturating_add(used.bytes));
        let shown = i == picture.shown;
        pen.text(x, y, Anchor::Start, if shown { "figure" } else { "figure faint" }, &size(bytes));
        pen.text(x, y + 18.0, Anchor::Start, if shown { "strong" } else { "soft" }, &strategy.name);
        if shown {
            pen.rect((x, y + 26.0, 110.0, 3.0), "mark", None);
        }
        x += 160.0;
    }
    y + 58.0
}

fn fills() -> String {
    let fill = |(class, ..): &(&str, &str, &str)| match *class {
        "tmp" => ".tmp{fill:url(#hatch)}\n".to_owned(),
        class => format!(".{class}{{fill:var(--{class})}}\n"),
    };
    crate::kinds::COLOURS.iter().map(fill).collect()
}

const STYLE_LIGHT: &str = "--paper:#ffffff;--ink:#1b2130;--soft:#5d6678;--line:#d9dee7;--band:#f3f5f9;--area:#c8d6ee;--peak:#d0225b;";
const STYLE_DARK: &str = "--paper:#12151c;--ink:#e8ebf2;--soft:#98a1b3;--line:#2b313d;--band:#191d26;--area:#2c3d5c;--peak:#ff6c94;";
const STYLE: &str =
    "text{font:13px system-ui,-apple-system,'Segoe UI','Liberation Sans',sans-serif;fill:var(--ink)}
.title{font-size:26px;font-weight:650}
.head{font-size:16px;font-weight:650}
.figure{font-size:24px;font-weight:600}
.faint{fill:var(--soft);font-weight:400}
.strong{font-weight:650}
.soft,.axis{fill:var(--soft)}
.axis{font-size:11px}
.paper{fill:var(--paper)}
.band{fill:var(--band)}
.frame{fill:none;stroke:var(--line)}
.grid{stroke:var(--line)}
.mark{fill:var(--ink)}
.track{fill:var(--line)}
.v{stroke:var(--paper);stroke-width:.5}
.live{fill:var(--area)}
.edge{fill:none;stroke:var(--k0);stroke-width:1.5}
.bound{stroke:var(--peak);stroke-dasharray:5 4}
.peak{stroke:var(--peak);stroke-width:1.2}
.peakmark,.peaktext{fill:var(--peak)}
";
