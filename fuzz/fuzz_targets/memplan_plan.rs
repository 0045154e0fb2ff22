//! Any problem is refused or has a plan, and every plan passes the check.
//!
//! `cargo +nightly fuzz run memplan_plan`, from the root of the repository.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use memplan::{PlanError, check, over_budget, plan, plan_unlimited, timeline};

use memplan_input::Source;

mod memplan_input;

fuzz_target!(|bytes: &[u8]| {
    // Bytes that end too early make no problem.
    let _ = planned(&mut Unstructured::new(bytes));
});

fn planned(u: &mut Unstructured<'_>) -> Result<()> {
    let is_wild = u.arbitrary()?;
    let mut source = Source { u, is_wild };
    let problem = source.problem()?;
    let options = source.options()?;
    match plan(&problem, &options) {
        Ok(plan) => {
            check(&problem, &plan).expect("the planner makes right plans");
            assert_eq!(over_budget(&problem, &plan), []);
            let _ = timeline(&problem, &plan);
        }
        Err(PlanError::OverBudget(over)) => {
            assert!(!over.to_string().is_empty());
            let plan = plan_unlimited(&problem, &options).expect("only the limit is in the way");
            assert_eq!(over_budget(&problem, &plan).first(), Some(&*over));
            let mut problem = problem;
            problem.spaces.iter_mut().for_each(|space| space.limit = None);
            check(&problem, &plan).expect("the plan is right but for its size");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}
