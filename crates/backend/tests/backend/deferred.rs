//! `Deferred` behaves like a device that runs behind.

use std::sync::Arc;

use backend::{Backend, Call, Deferred, Device, Window};
use graph::{DType, Extents, InPlace, Op, Region, RegionId, op};

use crate::spy::{Log, Spy};

const K: RegionId = RegionId(0);

fn deferred() -> (Deferred, Log) {
    let (spy, log) = Spy::new();
    let mut deferred = Deferred::new(spy, "deferred");
    deferred.reserve_arena(64).unwrap();
    log.lock().unwrap().clear();
    (deferred, log)
}

fn run(device: &mut Deferred, tokens: usize) {
    let calls: Arc<[Call]> = [].into();
    device.run(&calls, &Extents { tokens, outputs: 1, sequences: 1 }).unwrap();
}

fn window(offset: usize, bytes: usize) -> Window {
    Window { offset, bytes }
}

fn read(device: &mut Deferred, offset: usize, bytes: usize) -> Vec<u8> {
    let mut found = vec![0; bytes];
    device.read(window(offset, bytes), &mut found).unwrap();
    found
}

#[test]
fn nothing_runs_before_synchronize() {
    let (mut device, log) = deferred();
    device.write(window(8, 4), &[1, 2, 3, 4]).unwrap();
    run(&mut device, 5);
    device.copy_page(K, 1, 2).unwrap();
    device.write(window(0, 1), &[9]).unwrap();
    run(&mut device, 6);
    assert!(log.lock().unwrap().is_empty(), "all is pending");
    device.synchronize().unwrap();
    let expected = ["write 8+4", "run 5", "copy 0 1 2", "write 0+1", "run 6", "synchronize"];
    assert_eq!(*log.lock().unwrap(), expected);
    assert_eq!(read(&mut device, 0, 1), [6]);
    assert_eq!(read(&mut device, 8, 4), [1, 2, 3, 4]);
    device.synchronize().unwrap();
    assert_eq!(log.lock().unwrap()[6..], ["synchronize"], "nothing runs twice");
}

#[test]
fn filling_keeps_its_place_among_what_is_submitted() {
    let (mut device, _) = deferred();
    device.write(window(8, 6), &[1; 6]).unwrap();
    device.fill(window(9, 3), [5, 6, 7, 8]).unwrap();
    device.fill(window(0, 8), [2, 3, 4, 5]).unwrap();
    run(&mut device, 5);
    device.write(window(10, 1), &[9]).unwrap();
    device.synchronize().unwrap();
    assert_eq!(read(&mut device, 0, 14), [5, 3, 4, 5, 2, 3, 4, 5, 1, 5, 9, 7, 1, 1]);
}

#[test]
fn what_is_written_is_taken_at_once() {
    // The host may reuse its buffer as soon as `write` returns.
    let (mut device, _) = deferred();
    let mut buffer = [1, 2];
    device.write(window(0, 2), &buffer).unwrap();
    buffer.fill(9);
    device.write(window(2, 2), &buffer).unwrap();
    device.synchronize().unwrap();
    assert_eq!(read(&mut device, 0, 4), [1, 2, 9, 9]);
}

#[test]
#[should_panic(expected = "deferred is read while work is pending")]
fn reading_behind_a_run_panics() {
    let (mut device, _) = deferred();
    run(&mut device, 1);
    read(&mut device, 0, 1);
}

#[test]
#[should_panic(expected = "deferred is read while work is pending")]
fn reading_behind_a_write_panics() {
    let (mut device, _) = deferred();
    device.write(window(0, 1), &[1]).unwrap();
    read(&mut device, 0, 1);
}

#[test]
#[should_panic(expected = "deferred is read while work is pending")]
fn reading_behind_a_copy_of_a_page_panics() {
    let (mut device, _) = deferred();
    device.copy_page(K, 0, 1).unwrap();
    read(&mut device, 0, 1);
}

#[test]
fn the_arena_reads_as_nan_until_it_is_written() {
    let (mut device, _) = deferred();
    let floats =
        |bytes: Vec<u8>| bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect::<Vec<_>>();
    assert!(floats(read(&mut device, 0, 64)).iter().all(|x| x.is_nan()));
    device.write(window(4, 4), &1.5f32.to_ne_bytes()).unwrap();
    device.synchronize().unwrap();
    let found = floats(read(&mut device, 0, 12));
    assert!(found[0].is_nan() && found[2].is_nan());
    assert_eq!(found[1], 1.5);
    // A larger arena begins anew; one that is large enough stays.
    device.reserve_arena(32).unwrap();
    assert_eq!(floats(read(&mut device, 4, 4)), [1.5]);
    device.reserve_arena(128).unwrap();
    assert!(floats(read(&mut device, 0, 128)).iter().all(|x| x.is_nan()));
}

#[test]
fn after_a_failure_what_was_behind_it_does_not_run() {
    let (mut device, log) = deferred();
    run(&mut device, 3);
    run(&mut device, 0);
    run(&mut device, 4);
    assert!(device.synchronize().is_err());
    assert_eq!(*log.lock().unwrap(), ["run 3", "run 0"]);
    device.synchronize().unwrap();
    assert_eq!(log.lock().unwrap()[2..], ["synchronize"]);
    assert_eq!(read(&mut device, 0, 1), [3]);
}

#[test]
fn a_page_is_given_back_after_the_work_that_reads_it() {
    let (mut device, log) = deferred();
    run(&mut device, 2);
    device.discard_page(K, 3).unwrap();
    assert_eq!(*log.lock().unwrap(), ["run 2", "synchronize", "discard 0 3"]);
}

#[test]
fn an_arena_grows_after_the_work_that_uses_it() {
    let (mut device, log) = deferred();
    run(&mut device, 2);
    device.reserve_arena(128).unwrap();
    assert_eq!(*log.lock().unwrap(), ["run 2", "synchronize", "arena 128", "write 0+128"]);
}

#[test]
fn everything_else_is_the_wrapped_device() {
    let (mut device, log) = deferred();
    let (spy, _) = Spy::new();
    assert_eq!(device.caps().name, "deferred");
    let caps = backend::Caps { name: "deferred".into(), ..spy.caps().clone() };
    assert_eq!(*device.caps(), caps);
    let add: Op = op::Add.into();
    let extents = Extents { tokens: 5, outputs: 1, sequences: 1 };
    assert_eq!(device.supports(&add, &[]), Ok(()));
    assert_eq!(device.supports(&op::MatMul.into(), &[]), Err("only additions".into()));
    assert_eq!(device.activations(DType::BF16), DType::BF16);
    assert!(device.writes_in_place(&add, InPlace { output: 0, input: 0 }));
    assert!(!device.writes_in_place(&add, InPlace { output: 0, input: 1 }));
    assert_eq!(device.scratch_bytes(&add, &[], &extents), 15);
    let region =
        Region { name: "kv.0.k".into(), layer: 0, dtype: DType::F16, heads: 1, head_dim: 8, window: None };
    device.reserve_region(K, &region, 9).unwrap();
    assert_eq!(device.register_weight("w", Arc::new(vec![0u8])).unwrap(), backend::WeightHandle(7));
    assert_eq!(*log.lock().unwrap(), ["region 0 of 9", "weight w"]);
}
