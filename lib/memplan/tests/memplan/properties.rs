//! What holds for every plan of every valid problem.

use arbtest::arbtest;
use memplan::{Options, Pin, Plan, Problem, Strategy, check, plan, timeline};

use crate::common::STRATEGIES;
use crate::random;

const BUDGET_MS: u64 = 1000;

fn checked(problem: &Problem, strategy: Strategy, in_place: bool) -> Plan {
    let plan = plan(problem, &Options { strategy, in_place })
        .unwrap_or_else(|error| panic!("{error}\n{problem:#?}"));
    check(problem, &plan).unwrap_or_else(|fault| panic!("{strategy:?}: {fault}\n{problem:#?}\n{plan:#?}"));
    plan
}

#[test]
fn every_plan_passes_the_check() {
    let mut in_place_seen = 0;
    arbtest(|u| {
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
    })
    .budget_ms(BUDGET_MS)
    .run();
    assert!(in_place_seen > 0, "the random problems give occasion to work in place");
}

#[test]
fn packed_is_never_worse_and_never_below_the_bound() {
    arbtest(|u| {
        let problem = random::problem(u)?;
        for in_place in [false, true] {
            let plans = STRATEGIES.map(|strategy| checked(&problem, strategy, in_place));
            let [naive, size_class, packed] = &plans;
            for (s, report) in packed.spaces.iter().enumerate() {
                assert!(report.bytes <= size_class.spaces[s].bytes);
                assert!(report.bytes <= naive.spaces[s].bytes);
                assert_eq!(naive.spaces[s].bytes, naive.spaces[s].naive);
            }
            for report in plans.iter().flat_map(|plan| &plan.spaces) {
                assert!(report.bytes >= report.lower_bound);
                assert_eq!(report.proven, report.bytes == report.lower_bound);
            }
        }
        Ok(())
    })
    .budget_ms(BUDGET_MS)
    .run();
}

#[test]
fn the_same_problem_gives_the_same_plan() {
    arbtest(|u| {
        let problem = random::problem(u)?;
        for strategy in STRATEGIES {
            let options = Options { strategy, in_place: true };
            assert_eq!(plan(&problem, &options), plan(&problem.clone(), &options));
        }
        Ok(())
    })
    .budget_ms(BUDGET_MS / 4)
    .run();
}

#[test]
fn pinned_values_have_a_window_and_keep_it() {
    arbtest(|u| {
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
    })
    .budget_ms(BUDGET_MS / 4)
    .run();
}

#[test]
fn every_plan_can_be_drawn() {
    arbtest(|u| {
        let problem = random::problem(u)?;
        let plan = checked(&problem, Strategy::Packed, true);
        let picture = timeline(&problem, &plan);
        assert_eq!(picture.is_empty(), plan.spaces.iter().all(|space| space.bytes == 0));
        Ok(())
    })
    .budget_ms(BUDGET_MS / 4)
    .run();
}
