//! The page as text.

use picture::html;
use serde_json::Value;

use crate::{NASTY, hostile, model, small};

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn nasty_names_stay_in_the_data() {
    let page = html(&hostile());
    let plain = html(&small());
    for markup in ["<script", "</script", "<img", "<!--", "<"] {
        assert_eq!(page.matches(markup).count(), plain.matches(markup).count(), "{markup}");
    }
    let names = data(&page)["values"].to_string();
    assert!(names.contains("</script><script>document.title='owned'</script> 0"), "as it was, but as text");
    assert!(names.contains(NASTY[8]));
    assert!(!names.contains(['\0', '\u{202e}']) && !names.contains("\\u0001"));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = html(&small());
    assert_eq!(page.matches("http").count(), page.matches("http-equiv").count());
    assert_eq!(page.matches("href=").count(), page.matches("href=\"data:,\"").count());
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
    assert!(!page.contains(" src=") && !page.contains("@import") && !page.contains("fetch("));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_thousand_values_fit_in_a_megabyte() {
    let mut picture = model::picture(&model::Shape { layers: 48, ..model::Shape::default() });
    assert!(picture.values.len() >= 1000, "{}", picture.values.len());
    for value in &mut picture.values {
        value.name = format!("a rather long name of a value, {}", value.name);
    }
    while picture.strategies.len() < 4 {
        picture.strategies.push(picture.strategies[1].clone());
    }
    let bytes = html(&picture).len();
    assert!(bytes < 1_000_000, "{bytes}");
    assert!(picture::svg(&picture).len() < 1_000_000);
}

#[test]
fn the_same_data_give_the_same_page() {
    assert_eq!(html(&small()), html(&small()));
}
