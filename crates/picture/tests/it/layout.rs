//! Rectangles and curves.

use picture::{Picture, Rect, Region, Space, SpaceUse, Step, Strategy, Value, live_bytes, rects};

use crate::{on_two_devices, small};

fn overlap(a: &Rect, b: &Rect) -> bool {
    let in_time = a.from < b.until && b.from < a.until;
    let in_space = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    in_time && in_space
}

#[test]
fn values_that_live_at_the_same_time_never_overlap() {
    for picture in [small(), on_two_devices()] {
        let mut seen = 0;
        for strategy in 0..picture.strategies.len() {
            for space in 0..picture.spaces.len() {
                let all = rects(&picture, strategy, space);
                seen += all.len();
                for (i, a) in all.iter().enumerate() {
                    let other = all[i + 1..].iter().find(|b| overlap(a, b));
                    assert_eq!(other, None, "{a:?} under {}", picture.strategies[strategy].name);
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }
}

#[test]
fn every_placed_value_has_one_rectangle_in_its_space() {
    let picture = on_two_devices();
    for (s, strategy) in picture.strategies.iter().enumerate() {
        let mut drawn: Vec<usize> =
            (0..picture.spaces.len()).flat_map(|space| rects(&picture, s, space)).map(|r| r.value).collect();
        drawn.sort_unstable();
        let placed: Vec<usize> =
            (0..picture.values.len()).filter(|&v| strategy.offsets[v].is_some()).collect();
        assert_eq!(drawn, placed);
    }
}

#[test]
fn a_value_made_in_place_begins_where_the_other_ends() {
    let value = |first, last, in_place_of| Value { bytes: 8, first, last, in_place_of, ..Value::default() };
    let mut picture = Picture {
        steps: vec![Step::default(); 4],
        spaces: vec![Space::default()],
        values: vec![value(0, 2, None), value(2, 3, Some(0))],
        strategies: vec![Strategy { offsets: vec![Some(0), Some(0)], ..Strategy::default() }],
        ..Picture::default()
    };
    let lives =
        |picture: &Picture| rects(picture, 0, 0).iter().map(|r| (r.from, r.until)).collect::<Vec<_>>();
    assert_eq!(lives(&picture), [(0, 2), (2, 4)]);
    picture.strategies[0].offsets[1] = Some(8);
    assert_eq!(lives(&picture), [(0, 3), (2, 4)], "a window of its own: both live at the step");
}

#[test]
fn live_bytes_reach_the_bound_at_its_step_and_nowhere_more() {
    for used in on_two_devices().strategies.iter().flat_map(|s| &s.spaces) {
        assert_eq!(used.live.iter().max(), Some(&used.lower_bound));
        assert_eq!(used.live[used.bound_step], used.lower_bound);
    }
}

#[test]
fn live_bytes_count_both_ends_and_ignore_what_is_outside() {
    assert_eq!(live_bytes(4, [(1, 0, 1), (10, 1, 3), (100, 3, 9), (1000, 7, 8)]), [1, 11, 10, 110]);
    assert_eq!(live_bytes(1, [(u64::MAX, 0, 0), (1, 0, usize::MAX)]), [u64::MAX]);
    assert_eq!(live_bytes(0, [(1, 0, 0)]), [0; 0]);
}

/// Nothing here leads anywhere.
pub fn astray() -> Picture {
    let value = |first, last| Value {
        bytes: u64::MAX,
        space: 9,
        first,
        last,
        in_place_of: Some(77),
        ..Value::default()
    };
    let used = SpaceUse {
        bytes: u64::MAX,
        lower_bound: 1,
        proven: false,
        bound_step: 99,
        bound_values: vec![0, 55],
        live: vec![u64::MAX; 3],
    };
    Picture {
        steps: vec![Step { layer: Some(u32::MAX), ..Step::default() }],
        spaces: vec![Space::default(), Space::default()],
        values: vec![value(5, 2), value(0, usize::MAX), Value { space: 0, ..value(0, 0) }],
        strategies: vec![Strategy {
            offsets: vec![Some(u64::MAX), None, Some(u64::MAX), Some(3)],
            spaces: vec![used],
            ..Strategy::default()
        }],
        shown: 0,
        regions: vec![Region { bytes_committed: u64::MAX, ..Region::default() }; 2],
        ..Picture::default()
    }
}

#[test]
fn what_leads_nowhere_is_left_out_and_breaks_nothing() {
    for picture in [Picture::default(), astray(), Picture { shown: 7, ..astray() }] {
        let svg = picture::svg(&picture);
        roxmltree::Document::parse(&svg).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(picture::html(&picture).ends_with("</html>\n"));
    }
}
