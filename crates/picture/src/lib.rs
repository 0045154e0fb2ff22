//! The picture of a memory plan: plain data in, one SVG or one HTML page out.
//!
//! Execution runs from left to right, addresses upwards; each value is a rectangle from the step that makes it to the
//! step that reads it last, as tall as it has bytes. Below are the bytes that live at each step, with the lower bound
//! that no plan goes under, and the step that sets it.
//!
//! - [`svg()`] draws one strategy, for documents; it needs no script and follows light and dark.
//! - [`html()`] makes a page to explore all strategies: hover, search, zoom, keyboard. One file, which loads nothing.
//!
//! Names, shapes and labels may come from files that nobody trusts. They are text wherever they appear: escaped in the SVG, and in the
//! page JSON that cannot end its element, set as text by the script. The page's policy lets no other script run and
//! nothing be loaded.
//!
//! ```
//! use picture::{Picture, Space, SpaceUse, Step, Strategy, Value};
//!
//! let value = |name: &str, first, last| Value {
//!     name: name.into(), kind: "MatMul".into(), shape: "64 x 4".into(), dtype: "f32".into(),
//!     bytes: 1024, space: 0, first, last, in_place_of: None,
//! };
//! let picture = Picture {
//!     title: "two values, one after the other".into(),
//!     steps: vec![Step { name: "make".into(), kind: "MatMul".into(), layer: Some(0) }; 2],
//!     spaces: vec![Space { name: "cpu".into() }],
//!     values: vec![value("a", 0, 0), value("b", 1, 1)],
//!     strategies: vec![Strategy {
//!         name: "packed".into(),
//!         offsets: vec![Some(0), Some(0)],
//!         spaces: vec![SpaceUse {
//!             bytes: 1024, lower_bound: 1024, proven: true, bound_step: 0, bound_values: vec![0], live: vec![1024, 1024],
//!         }],
//!     }],
//!     ..Picture::default()
//! };
//! assert!(picture::svg(&picture).starts_with("<svg"));
//! assert!(picture::html(&picture).starts_with("<!doctype html>"));
//! ```
//!
//! *Invariant: pure. Knows no graph and no planner, does no I/O; the same data give the same bytes.*

#![forbid(unsafe_code)]

mod data;

mod html;
mod svg;

mod kinds;
mod rects;

mod text;
mod units;

pub use data::{Budget, Picture, Region, Space, SpaceUse, Step, Strategy, Term, Value, live_bytes};
pub use html::html;
pub use rects::{Rect, rects};
pub use svg::svg;
