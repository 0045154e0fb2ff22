//! The page: markup, style, script and data in one file.

use serde::Serialize;

use crate::data::{Picture, SpaceUse};
use crate::kinds::{Kinds, properties};
use crate::rects::rects;
use crate::text::{json_in_markup, shown, xml};

/// The page around style, data and script.
const MARKUP: &str = include_str!("page/page.html");
/// The page's style.
const STYLE: &str = include_str!("page/page.css");
/// The page's script, in the order in which its parts use each other; one closed scope.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("page/model.js"),
    include_str!("page/chart.js"),
    include_str!("page/select.js"),
    include_str!("page/panels.js"),
    include_str!("page/input.js"),
    "})();\n"
);
/// SHA-256 of the script in base64: the page's policy runs no other. A test says the right one after a change.
const SCRIPT_HASH: &str = "UobRYr6lYvwEg1mkLB0EIH7+TwfaC0M0knSniZi0vmE=";

/// A page to explore a picture in: every strategy and space, with hover, search, zoom and keyboard. It loads nothing, runs
/// no script but its own, and is well below a megabyte for a thousand values.
pub fn html(picture: &Picture) -> String {
    let (light, dark) = properties();
    // The data can always be written: there is no map whose keys are not text.
    let data = serde_json::to_string(&Data::of(picture)).expect("plain data are JSON");
    let parts = [
        ("{title}", xml(&picture.title)),
        ("{hash}", SCRIPT_HASH.to_owned()),
        ("{light}", light),
        ("{dark}", dark),
        ("{style}", STYLE.to_owned()),
        ("{data}", json_in_markup(&data)),
        ("{script}", SCRIPT.to_owned()),
    ];
    fill(MARKUP, &parts)
}

/// Puts each part where its name stands, once over the template, so that what is put in is never looked at again.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut page =
        String::with_capacity(template.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = template;
    loop {
        let next = parts.iter().filter_map(|(name, part)| Some((rest.find(name)?, name, part)));
        let Some((at, name, part)) = next.min_by_key(|(at, ..)| *at) else { break };
        page.push_str(&rest[..at]);
        page.push_str(part);
        rest = &rest[at + name.len()..];
    }
    page.push_str(rest);
    page
}

/// What the script reads. Tuples instead of maps where there are many.
#[derive(Serialize)]
struct Data {
    title: String,
    settings: Vec<String>,
    /// Name and class.
    kinds: Vec<(String, &'static str)>,
    /// Name, kind, layer.
    steps: Vec<(String, String, Option<u32>)>,
    spaces: Vec<String>,
    values: Vec<ValueData>,
    strategies: Vec<StrategyData>,
    shown: usize,
    /// Name, reserved, committed, device.
    regions: Vec<(String, u64, u64, String)>,
    limit: Option<u64>,
    /// Label, bytes.
    terms: Vec<(String, u64)>,
}

/// Name, index of the kind, shape, type, bytes, space, first, last, in place of.
#[derive(Serialize)]
struct ValueData(String, Option<usize>, String, String, u64, usize, usize, usize, Option<usize>);

#[derive(Serialize)]
struct StrategyData {
    name: String,
    spaces: Vec<UseData>,
}

#[derive(Serialize)]
struct UseData {
    bytes: u64,
    bound: u64,
    proven: bool,
    step: Option<usize>,
    held: Vec<usize>,
    live: Vec<u64>,
    /// Value, from, until, offset.
    rects: Vec<(usize, usize, usize, u64)>,
}

impl Data {
    fn of(picture: &Picture) -> Self {
        let kinds = Kinds::of(picture);
        let strategy = |(s, strategy): (usize, &crate::data::Strategy)| StrategyData {
            name: shown(&strategy.name),
            spaces: (0..picture.spaces.len()).map(|space| UseData::of(picture, s, space)).collect(),
        };
        let value = |v: &crate::data::Value| {
            let (shape, dtype) = (shown(&v.shape), shown(&v.dtype));
            let before = v.in_place_of.filter(|&i| i < picture.values.len());
            ValueData(
                shown(&v.name),
                kinds.index(&v.kind),
                shape,
                dtype,
                v.bytes,
                v.space,
                v.first,
                v.last,
                before,
            )
        };
        Self {
            title: shown(&picture.title),
            settings: picture.settings.iter().map(|line| shown(line)).collect(),
            steps: picture.steps.iter().map(|s| (shown(&s.name), shown(&s.kind), s.layer)).collect(),
            spaces: picture.spaces.iter().map(|s| shown(&s.name)).collect(),
            values: picture.values.iter().map(value).collect(),
            strategies: picture.strategies.iter().enumerate().map(strategy).collect(),
            shown: picture.shown.min(picture.strategies.len().saturating_sub(1)),
            regions: picture
                .regions
                .iter()
                .map(|r| (shown(&r.name), r.bytes_reserved, r.bytes_committed, shown(&r.device)))
                .collect(),
            limit: picture.budget.limit,
            terms: picture.budget.terms.iter().map(|t| (shown(&t.label), t.bytes)).collect(),
            kinds: kinds.legend.iter().map(|(name, class)| (shown(name), *class)).collect(),
        }
    }
}

impl UseData {
    fn of(picture: &Picture, strategy: usize, space: usize) -> Self {
        let nothing = SpaceUse::default();
        let used = picture.strategies[strategy].spaces.get(space).unwrap_or(&nothing);
        let held = used.bound_values.iter().copied().filter(|&v| v < picture.values.len()).collect();
        // As many as there are steps, whatever came.
        let live = (0..picture.steps.len()).map(|s| used.live.get(s).copied().unwrap_or(0)).collect();
        Self {
            bytes: used.bytes,
            bound: used.lower_bound,
            proven: used.proven,
            step: Some(used.bound_step).filter(|&step| step < picture.steps.len()),
            held,
            live,
            rects: rects(picture, strategy, space)
                .into_iter()
                .map(|r| (r.value, r.from, r.until, r.offset))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, SCRIPT_HASH, fill};

    #[test]
    fn the_policy_names_the_checksum_of_the_script() {
        use sha2::{Digest, Sha256};
        let digest: [u8; 32] = Sha256::digest(SCRIPT.as_bytes()).into();
        assert_eq!(SCRIPT_HASH, base64(&digest), "write the right one into SCRIPT_HASH");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let parts = [("{a}", "{b}".to_owned()), ("{b}", "x".to_owned())];
        assert_eq!(fill("1{a}2{b}3{c}", &parts), "1{b}2x3{c}");
    }

    fn base64(bytes: &[u8]) -> String {
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits =
                chunk.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
            for i in 0..4 {
                let digit = digits[(bits >> (18 - 6 * i) & 63) as usize];
                text.push(if i <= chunk.len() { digit.into() } else { '=' });
            }
        }
        text
    }
}
