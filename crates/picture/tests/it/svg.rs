//! The static picture.

use picture::{Picture, rects, svg};
use roxmltree::{Document, Node};

use crate::{NASTY, hostile, on_two_devices, small};

fn values<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    let of_value = |node: &Node| {
        // Parts of the budget's bar look the same and have no title.
        node.has_tag_name(("http://www.w3.org/2000/svg", "rect")) && node.first_element_child().is_some()
    };
    document.descendants().filter(of_value).collect()
}

fn title<'a>(node: &Node<'a, 'a>) -> &'a str {
    node.first_element_child().and_then(|title| title.text()).unwrap_or_default()
}

fn drawn(picture: &Picture) -> usize {
    (0..picture.spaces.len()).map(|space| rects(picture, picture.shown, space).len()).sum()
}

#[test]
fn nasty_names_are_text_in_well_formed_xml() {
    let text = svg(&hostile());
    let document = Document::parse(&text).unwrap();
    assert!(document.descendants().all(|node| !matches!(node.tag_name().name(), "script" | "img")));
    let unsafe_attribute = |node: &Node| node.attributes().any(|a| a.name().starts_with("on"));
    assert!(!document.descendants().any(|node| unsafe_attribute(&node)));
    let titles: String = values(&document).iter().map(title).collect();
    for name in NASTY.iter().filter(|name| !name.contains(['\0', '\u{202e}'])) {
        assert!(titles.contains(name), "{name}");
    }
}

#[test]
fn each_rectangle_is_one_value_with_its_facts() {
    for picture in [small(), on_two_devices()] {
        let text = svg(&picture);
        let document = Document::parse(&text).unwrap();
        let nodes = values(&document);
        assert_eq!(nodes.len(), drawn(&picture));
        let glu = nodes.iter().map(title).find(|title| title.starts_with("l1.glu\n")).unwrap();
        for fact in ["4864 x 64 f32", "1.19 MiB", "l1.glu to l1.glu.q8", "in place of l1.up"] {
            assert!(glu.contains(fact), "{fact}: {glu}");
        }
    }
}

#[test]
fn rectangles_on_paper_do_not_overlap() {
    let text = svg(&on_two_devices());
    let document = Document::parse(&text).unwrap();
    let number = |node: &Node, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let boxes: Vec<[f64; 4]> =
        values(&document).iter().map(|n| ["x", "y", "width", "height"].map(|name| number(n, name))).collect();
    // Coordinates have two digits.
    let apart = |a: f64, a_size: f64, b: f64, b_size: f64| a + a_size <= b + 0.03 || b + b_size <= a + 0.03;
    for (i, a) in boxes.iter().enumerate() {
        for b in &boxes[i + 1..] {
            assert!(apart(a[0], a[2], b[0], b[2]) || apart(a[1], a[3], b[1], b[3]), "{a:?} {b:?}");
        }
    }
}

#[test]
fn bound_peak_layers_and_budget_are_said() {
    let picture = small();
    let text = svg(&picture);
    let used = &picture.strategies[picture.shown].spaces[0];
    let step = &picture.steps[used.bound_step].name;
    for words in [
        &format!("peak at step {}, {step}", used.bound_step),
        "reached: no plan needs less",
        "L3",
        "budget: ",
        "prefers-color-scheme",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn the_same_data_give_the_same_picture() {
    assert_eq!(svg(&small()), svg(&small()));
}
