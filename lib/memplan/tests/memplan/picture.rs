//! The picture of a plan.

use memplan::{Pin, timeline};

use crate::common::*;

#[test]
fn a_picture_shows_lives_across_and_offsets_upwards() {
    let mut p = problem();
    let x = pinned(&mut p, "x", 64, Pin::Input);
    let [a, b] = [("a", 128), ("b", 64)].map(|(name, bytes)| value(&mut p, name, bytes));
    step(&mut p, "make a", &[x], &[a]);
    step(&mut p, "make b", &[a], &[b]);
    step(&mut p, "end", &[b], &[]);
    let plan = planned(&p, memplan::Strategy::Packed, false);
    let picture = timeline(&p, &plan);
    let lines: Vec<&str> = picture.lines().collect();
    assert_eq!(lines[0], "ram: 256 bytes, lower bound 256 (proven), naive 256, 3 steps");
    let rows: Vec<&str> = lines[1..25].iter().map(|line| line.trim_start()).collect();
    // From the top: 64 bytes of `b` (drawn with c), 64 of `x` (a), 128 of `a` (b).
    assert_eq!([rows[0], rows[5]], ["245 .cc", "192 .cc"]);
    assert_eq!([rows[6], rows[11]], ["181 aaa", "128 aaa"]);
    assert_eq!([rows[12], rows[23]], ["117 bb.", "0 bb."]);
    // The step of the bound is the second column; what lives there is listed below.
    assert_eq!(lines[25], format!("{:>17} step #1 make b", "^"));
    assert_eq!(lines[26].trim_start(), "b a: 128 bytes, steps 0 to 1");
    assert_eq!(lines.len(), 1 + 24 + 1 + 3);
}

#[test]
fn a_long_program_is_drawn_in_a_fixed_width() {
    let mut p = problem();
    for i in 0..1000 {
        let v = value(&mut p, &format!("v{i}"), 64 + i);
        step(&mut p, "make", &[], &[v]);
        step(&mut p, "use", &[v], &[]);
    }
    let picture = timeline(&p, &packed(&p));
    assert_eq!(picture.lines().count(), 1 + 24 + 1 + 1);
    assert!(picture.lines().all(|line| line.len() < 130));
}
