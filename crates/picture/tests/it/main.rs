//! What the pictures promise.

#[path = "../../examples/demo/model.rs"]
mod model;

mod browser;
mod html;
mod layout;
mod svg;

use picture::Picture;

/// A small model on one device, planned by every strategy.
fn small() -> Picture {
    model::picture(&model::Shape { layers: 4, tokens: 64, ..model::Shape::default() })
}

/// A larger one on two devices.
fn on_two_devices() -> Picture {
    model::picture(&model::Shape { layers: 8, devices: 2, tokens: 64, ..model::Shape::default() })
}

/// The small model with names that try to be more than names.
fn hostile() -> Picture {
    let mut picture = small();
    picture.title = NASTY[0].to_owned();
    picture.settings = NASTY.iter().map(|&name| name.to_owned()).collect();
    for (i, name) in NASTY.iter().cycle().enumerate().take(picture.values.len()) {
        picture.values[i].name = format!("{name} {i}");
        picture.values[i].shape = (*name).to_owned();
        picture.values[i].dtype = (*name).to_owned();
        picture.values[i].kind = (*name).to_owned();
    }
    for (i, name) in NASTY.iter().cycle().enumerate().take(picture.steps.len()) {
        picture.steps[i].name = format!("{name} {i}");
        picture.steps[i].kind = (*name).to_owned();
    }
    for region in &mut picture.regions {
        region.name = NASTY[1].to_owned();
        region.device = NASTY[2].to_owned();
    }
    picture.budget.terms[0].label = NASTY[3].to_owned();
    picture.spaces[0].name = NASTY[4].to_owned();
    picture.strategies[0].name = NASTY[5].to_owned();
    picture
}

const NASTY: [&str; 9] = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\" onload=\"document.title='owned'",
    "<!--<script>",
    "a & b &amp; ]]> {script} {data} $& ${1+1}",
    "\0\u{1}\u{8}\u{b}\u{1f}\u{7f}\u{9f}\u{fffe}\u{ffff}",
    "\u{202e}turned\u{2028}line",
    "'; alert(1); '",
    "größe 長さ 🦀",
];
