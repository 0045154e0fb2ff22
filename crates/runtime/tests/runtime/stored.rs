//! A sequence that was taken out as bytes and brought back goes on with the same bits, and holds no more than it had.

use backend::{Backend, Deferred};
use compile::DeviceId;
use runtime::{Engine, Held, RuntimeError, SeqId};

use crate::common::*;

/// Stops at the first error of either side.
#[derive(Debug)]
enum Stop {
    Runtime(RuntimeError),
    Source,
}

impl From<RuntimeError> for Stop {
    fn from(error: RuntimeError) -> Stop {
        Stop::Runtime(error)
    }
}

fn export(engine: &mut Engine, seq: SeqId) -> (Held, Vec<u8>) {
    let held = engine.held(seq).unwrap();
    let mut bytes = Vec::new();
    let mut sink = |rows: &[u8]| -> Result<(), RuntimeError> {
        bytes.extend_from_slice(rows);
        Ok(())
    };
    engine.export(seq, &mut sink).unwrap();
    assert_eq!(bytes.len() as u64, engine.held_bytes(held));
    (held, bytes)
}

fn import(engine: &mut Engine, held: Held, bytes: &[u8]) -> Result<SeqId, Stop> {
    let mut rest = bytes;
    let seq = engine.import::<Stop>(held, &mut |rows: &mut [u8]| {
        let (now, later) = rest.split_at_checked(rows.len()).ok_or(Stop::Source)?;
        rows.copy_from_slice(now);
        rest = later;
        Ok(())
    })?;
    assert!(rest.is_empty());
    Ok(seq)
}

#[test]
fn a_restored_sequence_goes_on_with_the_same_bits() {
    for case in all_cases() {
        let setup = Setup::new(case);
        let file = setup.file();
        let mut first = setup.engine_with(&file);
        // Others batches, other threads, a device that is slow to act.
        let mut other = Setup { threads: 1, ..Setup::new(case) };
        other.params.n_ubatch = 24;
        other.params.n_outputs = 24;
        let deferred: Vec<Box<dyn Backend>> = vec![Box::new(Deferred::new(other.cpu(), "deferred"))];
        let mut second = other.engine_on(&file, deferred, Box::new(|_, _| DeviceId(0)));
        let more = tokens(40, 2);
        for n in [1, 31, 32, 33, 47, 48, 100] {
            let seq = first.create();
            append(&mut first, seq, &tokens(n, 1));
            let (held, bytes) = export(&mut first, seq);
            let restored = import(&mut second, held, &bytes).unwrap();
            assert_eq!(second.held(restored).unwrap(), held);
            assert_eq!(export(&mut second, restored).1, bytes);
            let expected = append(&mut first, seq, &more);
            let found = append(&mut second, restored, &more);
            assert_same_bits(&expected, &found, &format!("{case:?} after {n}"));
            first.remove(seq).unwrap();
            second.remove(restored).unwrap();
            assert_eq!(second.memory().kv_bytes_committed, 0);
        }
    }
}

#[test]
fn only_positions_that_there_are_and_that_windows_see_are_taken_out() {
    let position = |case: Case, heads: usize| 2 * heads * case.kv.row_bytes(32);
    // Six layers with windows and one without.
    let case = WINDOWED[0];
    let mut engine = Setup::new(case).engine();
    let seq = engine.create();
    append(&mut engine, seq, &tokens(100, 1));
    let (held, bytes) = export(&mut engine, seq);
    // The next position sees 85 and later ones, of which the first page begins at 64.
    assert_eq!(held, Held { len: 100, window_first: 64 });
    assert_eq!(bytes.len(), position(case, 1) * (100 + 6 * (100 - 64)));
    engine.truncate(seq, 90).unwrap();
    assert_eq!(export(&mut engine, seq).0, Held { len: 90, window_first: 64 });
    let empty = engine.create();
    assert_eq!(export(&mut engine, empty), (Held { len: 0, window_first: 0 }, vec![]));
}

#[test]
fn what_cannot_be_restored_is_refused_and_leaves_nothing_behind() {
    for case in [QUICK, WINDOWED[0]] {
        let mut setup = Setup::new(case);
        setup.params.body.n_ctx = 96;
        setup.params.n_ubatch = 32;
        setup.params.n_outputs = 32;
        let mut engine = setup.engine();
        let seq = engine.create();
        append(&mut engine, seq, &tokens(80, 1));
        let (held, bytes) = export(&mut engine, seq);
        let full = import(&mut engine, held, &bytes).unwrap_err();
        assert!(matches!(full, Stop::Runtime(RuntimeError::OutOfPages { .. })), "{full:?}");
        engine.remove(seq).unwrap();

        let long = import(&mut engine, Held { len: 97, ..held }, &bytes).unwrap_err();
        assert!(
            matches!(long, Stop::Runtime(RuntimeError::ContextFull { needed: 97, n_ctx: 96 })),
            "{long:?}"
        );
        for window_first in [1, held.window_first + 32, usize::MAX] {
            let error = import(&mut engine, Held { window_first, ..held }, &bytes).unwrap_err();
            assert!(matches!(error, Stop::Runtime(RuntimeError::WindowMissing { .. })), "{error:?}");
        }
        let short = import(&mut engine, held, &bytes[..bytes.len() - 1]).unwrap_err();
        assert!(matches!(short, Stop::Source), "{short:?}");
        assert_eq!(engine.memory().kv_bytes_committed, 0);

        let seq = import(&mut engine, held, &bytes).unwrap();
        let expected = setup.logits(&[tokens(80, 1), tokens(5, 2)].concat()).split_off(80);
        assert_same_bits(&expected, &append(&mut engine, seq, &tokens(5, 2)), "after refusals");
    }
}

#[test]
fn an_error_of_the_reader_is_handed_on() {
    let mut engine = Setup::new(QUICK).engine();
    let seq = engine.create();
    append(&mut engine, seq, &tokens(3, 1));
    let stopped = engine.export(seq, &mut |_| Err(Stop::Source)).unwrap_err();
    assert!(matches!(stopped, Stop::Source));
    engine.remove(seq).unwrap();
    let unknown: Result<(), RuntimeError> = engine.export(seq, &mut |_| Ok(()));
    assert!(matches!(unknown, Err(RuntimeError::UnknownSequence(_))));
}
