//! What holds for every plan of every valid problem.

use arbtest::arbitrary::{Result, Unstructured};
use memplan::{Options, Pin, Plan, Problem, Strategy, ValueId, check, plan, timeline};

use crate::common::STRATEGIES;
use crate::definition::{bounds, bounds_as_shared};
use crate::{machine, random};

/// Random problems for a property.
const PROBLEMS: u64 = 1000;

/// Tries a property with as many random inputs, the same ones each time.
fn holds(inputs: u64, mut property: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    struct Seed(u64);
    impl Drop for Seed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("with seed {}", self.0);
            }
        }
    }
    for seed in 0..inputs {
        let seed = Seed(seed);
        property(&mut Unstructured::new(&random::noise(seed.0))).expect("there is enough noise");
    }
}

fn checked(problem: &Problem, strategy: Strategy, in_place: bool) -> Plan {
    let plan = plan(problem, &Options { strategy, in_place })
        .unwrap_or_else(|error| panic!("{error}\n{problem:#?}"));
    check(problem, &plan).unwrap_or_else(|fault| panic!("{strategy:?}: {fault}\n{problem:#?}\n{plan:#?}"));
    plan
}

#[test]
fn every_plan_passes_the_check() {
    let mut in_place_seen = 0;
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        for strategy in STRATEGIES {
            for in_place in [false, true] {
                let plan = checked(&problem, strategy, in_place);
                let roots = |s: &memplan::Storage| {
                    s.members.iter().filter(|m| problem.values[m.index()].view_of.is_none()).count()
                };
                in_place_seen += plan.storages.iter().filter(|s| roots(s) > 1).count();
            }
        }
        Ok(())
    });
    assert!(in_place_seen > 0, "the random problems give occasion to work in place");
}

#[test]
fn packed_is_never_worse_and_never_below_the_bound() {
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        for in_place in [false, true] {
            let packed = checked(&problem, Strategy::Packed, in_place);
            let plans = STRATEGIES.map(|strategy| checked(&problem, strategy, in_place));
            for (s, report) in packed.spaces.iter().enumerate() {
                assert!(plans.iter().all(|other| report.bytes <= other.spaces[s].bytes));
            }
            let naive = checked(&problem, Strategy::Naive, in_place);
            assert!(naive.spaces.iter().all(|report| report.bytes == report.naive));
            for report in plans.iter().flat_map(|plan| &plan.spaces) {
                assert!(report.bytes >= report.lower_bound);
                assert_eq!(report.proven, report.bytes == report.lower_bound);
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_problem_gives_the_same_plan() {
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        for strategy in STRATEGIES {
            let options = Options { strategy, in_place: true };
            assert_eq!(plan(&problem, &options), plan(&problem.clone(), &options));
        }
        Ok(())
    });
}

#[test]
fn pinned_values_have_a_window_and_keep_it() {
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        let plan = checked(&problem, Strategy::Packed, true);
        let end = problem.steps.len() as u32 - 1;
        for (value, placement) in problem.values.iter().zip(&plan.placements) {
            if matches!(value.pin, Pin::None | Pin::Scratch) {
                continue;
            }
            let storage = &plan.storages[placement.expect("a pinned value has a window").storage.index()];
            assert_eq!(storage.last, end);
            if value.pin != Pin::Output {
                assert_eq!(storage.first, 0);
                let own = |m: &memplan::ValueId| problem.values[m.index()].view_of.is_none();
                assert_eq!(storage.members.iter().filter(|m| own(m)).count(), 1);
            }
        }
        Ok(())
    });
}

#[test]
fn every_plan_can_be_drawn() {
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        let plan = checked(&problem, Strategy::Packed, true);
        let picture = timeline(&problem, &plan);
        assert_eq!(picture.is_empty(), plan.spaces.iter().all(|space| space.bytes == 0));
        Ok(())
    });
}

fn reported_bounds(plan: &Plan) -> Vec<u64> {
    plan.spaces.iter().map(|report| report.lower_bound).collect()
}

#[test]
fn the_bound_is_what_its_definition_says_and_every_strategy_reports_it() {
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        for strategy in STRATEGIES {
            assert_eq!(reported_bounds(&checked(&problem, strategy, false)), bounds(&problem));
            let shared = checked(&problem, strategy, true);
            assert_eq!(reported_bounds(&shared), bounds_as_shared(&problem, &shared));
        }
        Ok(())
    });
}

#[test]
fn working_in_place_never_raises_the_bound() {
    let mut lowered = 0;
    holds(PROBLEMS, |u| {
        let problem = random::problem(u)?;
        let alone = checked(&problem, Strategy::Packed, false);
        let shared = checked(&problem, Strategy::Packed, true);
        for (alone, shared) in alone.spaces.iter().zip(&shared.spaces) {
            assert!(shared.lower_bound <= alone.lower_bound, "{problem:#?}");
            lowered += usize::from(shared.lower_bound < alone.lower_bound);
        }
        Ok(())
    });
    assert!(lowered > 0);
}

/// With rights to overwrite neither of these two holds: a larger operand can be taken over where a smaller one could not.
#[test]
fn larger_values_never_lower_the_bound() {
    holds(PROBLEMS, |u| {
        let mut problem = random::problem(u)?;
        let before = reported_bounds(&checked(&problem, Strategy::Packed, false));
        for _ in 0..u.int_in_range(1..=3)? {
            if !problem.values.is_empty() {
                let v = u.choose_index(problem.values.len())?;
                // A view of more bytes could reach past its parent.
                let more = if problem.values[v].view_of.is_some() { 0 } else { u.int_in_range(0..=5000)? };
                problem.values[v].bytes += more;
            }
        }
        let after = reported_bounds(&checked(&problem, Strategy::Packed, false));
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{problem:#?}");
        Ok(())
    });
}

#[test]
fn a_further_reader_never_lowers_the_bound() {
    let (mut added, mut raised) = (0, 0);
    holds(PROBLEMS, |u| {
        let mut problem = random::problem(u)?;
        let before = reported_bounds(&checked(&problem, Strategy::Packed, false));
        if problem.values.is_empty() {
            return Ok(());
        }
        let v = ValueId::new(u.choose_index(problem.values.len())?);
        let s = u.choose_index(problem.steps.len())?;
        problem.steps[s].reads.push(v);
        // Too early a reader makes no program.
        let Ok(plan) = plan(&problem, &Options { strategy: Strategy::Packed, in_place: false }) else {
            return Ok(());
        };
        added += 1;
        let after = reported_bounds(&plan);
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{problem:#?}");
        raised += usize::from(before != after);
        Ok(())
    });
    assert!(added > 0);
    assert!(raised > 0);
}

#[test]
fn every_plan_runs_on_real_memory() {
    holds(PROBLEMS, |u| {
        let problem = random::small_problem(u)?;
        for strategy in STRATEGIES {
            for in_place in [false, true] {
                let plan = checked(&problem, strategy, in_place);
                machine::run(&problem, &plan)
                    .unwrap_or_else(|what| panic!("{strategy:?}: {what}\n{problem:#?}\n{plan:#?}"));
            }
        }
        Ok(())
    });
}

/// Plans that were changed at random, some of which are still right: the machine must never lose a byte that the checker
/// had vouched for.
#[test]
fn what_the_checker_lets_through_runs_on_real_memory() {
    let (mut right, mut destroyed) = (0, 0);
    holds(3 * PROBLEMS, |u| {
        let mut problem = random::small_problem(u)?;
        let options = Options { strategy: *u.choose(&STRATEGIES)?, in_place: true };
        let mut plan = plan(&problem, &options).expect("random problems are valid");
        disturb(u, &mut problem, &mut plan)?;
        let found = check(&problem, &plan);
        let ran = machine::run(&problem, &plan);
        if let (Ok(()), Err(what)) = (&found, &ran) {
            panic!("not found: {what}\n{problem:#?}\n{plan:#?}");
        }
        right += usize::from(found.is_ok());
        destroyed += usize::from(ran.is_err());
        Ok(())
    });
    assert!(right > 100, "only {right} plans were still right");
    assert!(destroyed > 100, "only {destroyed} plans destroyed anything");
}

/// Moves a storage, or changes the program under the plan.
fn disturb(u: &mut Unstructured<'_>, problem: &mut Problem, plan: &mut Plan) -> Result<()> {
    let step = u.choose_index(problem.steps.len())?;
    match u.int_in_range(0..=5)? {
        0 => {
            let other = u.choose_index(problem.steps.len())?;
            problem.steps.swap(step, other);
        }
        1 if !problem.values.is_empty() => {
            let v = ValueId::new(u.choose_index(problem.values.len())?);
            problem.steps[step].reads.push(v);
        }
        2 => drop(problem.steps[step].overwrites.pop()),
        _ if !plan.storages.is_empty() => {
            let storage = u.choose_index(plan.storages.len())?;
            let storage = &mut plan.storages[storage];
            let space = storage.space.index();
            let align = problem.spaces[space].align;
            let before = storage.offset;
            storage.offset = u.int_in_range(0..=plan.spaces[space].bytes / align)? * align;
            for member in &storage.members {
                let placement = plan.placements[member.index()].as_mut().expect("members are placed");
                placement.offset = placement.offset - before + storage.offset;
            }
            let report = &mut plan.spaces[space];
            report.bytes = report.bytes.max(storage.offset + storage.bytes);
            report.proven = report.bytes == report.lower_bound;
        }
        _ => {}
    }
    Ok(())
}
