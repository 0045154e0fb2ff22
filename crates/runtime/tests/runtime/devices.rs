//! Where nodes run changes nothing: the CPU, and a second CPU that behaves like a GPU.

use backend::{Backend, Deferred};
use compile::DeviceId;
use graph::{Graph, NodeId};
use runtime::Placement;

use crate::common::*;

/// CPU and a deferred CPU.
fn devices(setup: &Setup) -> Vec<Box<dyn Backend>> {
    vec![setup.cpu(), Box::new(Deferred::new(setup.cpu(), "deferred"))]
}

/// Logits of a prompt, a fork and a truncation, so that copies of pages cross devices' work as well.
fn story(engine: &mut runtime::Engine) -> Vec<Vec<f32>> {
    // Long enough for windows to give back a page, and cut to where they still can be.
    let prompt = tokens(52, 1);
    let a = engine.create();
    let mut rows = append(engine, a, &prompt);
    let b = engine.fork(a).unwrap();
    engine.truncate(a, 48).unwrap();
    for part in append_many(engine, &[(a, &prompt[..5]), (b, &prompt[5..12])]) {
        rows.extend(part);
    }
    rows
}

/// Runs the story under each placement of the body's nodes and compares with the CPU alone. The head's nodes
/// go where the same rule says.
fn compare(case: Case, placements: impl Fn(usize) -> Vec<(String, Placement)>) {
    let mut setup = Setup::new(case);
    setup.params.n_seq = 2;
    setup.params.n_ubatch = 16;
    setup.threads = 1;
    let file = setup.file();
    let mut alone = setup.engine_with(&file);
    let expected = story(&mut alone);
    let nodes = alone.model().body(&setup.params.body).unwrap().nodes.len();
    for (what, placement) in placements(nodes) {
        let mut engine = setup.engine_on(&file, devices(&setup), placement);
        assert_same_bits(&expected, &story(&mut engine), &format!("{case:?}, {what}"));
    }
}

fn on_deferred(rule: impl Fn(usize) -> bool + Send + 'static) -> Placement {
    Box::new(move |_: &Graph, id: NodeId| DeviceId(usize::from(rule(id.0 as usize))))
}

#[test]
fn every_cpu_deferred_split_equals_cpu_alone() {
    for case in [CASES[0], CASES[3], MOE, WINDOWED[0]] {
        compare(case, |nodes| {
            let at = |k| (format!("nodes from {k} on deferred"), on_deferred(move |n| n >= k));
            (0..=nodes).map(at).collect()
        });
    }
}

#[test]
fn every_deferred_cpu_split_equals_cpu_alone() {
    compare(CASES[1], |nodes| {
        let at = |k| (format!("nodes below {k} on deferred"), on_deferred(move |n| n < k));
        (0..=nodes).map(at).collect()
    });
}

#[test]
fn alternating_devices_equal_cpu_alone() {
    for case in all_cases() {
        compare(case, |_| {
            let every = |n: usize, first: usize| {
                (
                    format!("every {n} nodes from {first}"),
                    on_deferred(move |i| (i / n + first).is_multiple_of(2)),
                )
            };
            vec![every(1, 0), every(1, 1), every(2, 0), every(2, 1), every(3, 0), every(5, 1)]
        });
    }
}
