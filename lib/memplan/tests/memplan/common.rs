//! Short ways to write a problem and to ask about a plan.

use memplan::{
    Options, Overwrite, Pin, Placement, Plan, Problem, Space, SpaceId, Step, Strategy, Value, ValueId, check,
    plan,
};

pub const ALIGN: u64 = 64;
pub const STRATEGIES: [Strategy; 4] =
    [Strategy::Naive, Strategy::SizeClass, Strategy::BestFit, Strategy::Packed];

/// A problem with spaces `ram` and `card`, both aligned to 64 bytes.
pub fn problem() -> Problem {
    let mut problem = Problem::default();
    for name in ["ram", "card"] {
        problem.add_space(Space { name: name.into(), align: ALIGN, limit: None });
    }
    problem
}

pub const RAM: SpaceId = SpaceId(0);
pub const CARD: SpaceId = SpaceId(1);

/// A value in `ram`.
pub fn value(problem: &mut Problem, name: &str, bytes: u64) -> ValueId {
    problem.add_value(Value::new(name, bytes, RAM))
}

/// A pinned value in `ram`.
pub fn pinned(problem: &mut Problem, name: &str, bytes: u64, pin: Pin) -> ValueId {
    problem.add_value(Value::new(name, bytes, RAM).pinned(pin))
}

/// A view into a value in `ram`.
pub fn view(problem: &mut Problem, name: &str, parent: ValueId, offset: u64, bytes: u64) -> ValueId {
    problem.add_value(Value::new(name, bytes, RAM).viewing(parent, offset))
}

/// A step without overwrites.
pub fn step(problem: &mut Problem, name: &str, reads: &[ValueId], writes: &[ValueId]) {
    problem.add_step(Step::new(name, reads.iter().copied(), writes.iter().copied()));
}

/// A step that may make each of its results in the storage of any of its operands.
pub fn elementwise(problem: &mut Problem, name: &str, reads: &[ValueId], writes: &[ValueId]) {
    let mut step = Step::new(name, reads.iter().copied(), writes.iter().copied());
    for &write in writes {
        for &read in reads {
            step = step.overwriting(Overwrite { write, read });
        }
    }
    problem.add_step(step);
}

/// The plan, which must be right.
pub fn planned(problem: &Problem, strategy: Strategy, in_place: bool) -> Plan {
    let plan = plan(problem, &Options { strategy, in_place }).expect("the problem has a plan");
    check(problem, &plan).expect("the plan is right");
    plan
}

/// The packed plan with everything allowed.
pub fn packed(problem: &Problem) -> Plan {
    planned(problem, Strategy::Packed, true)
}

/// The window of a value that must have one.
pub fn window(plan: &Plan, value: ValueId) -> Placement {
    *plan.placement(value).expect("the value has a window")
}

/// Whether two values of one space have a byte in common.
pub fn overlap(plan: &Plan, a: ValueId, b: ValueId) -> bool {
    let (a, b) = (window(plan, a), window(plan, b));
    a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

/// Whether two values are in one storage.
pub fn together(plan: &Plan, a: ValueId, b: ValueId) -> bool {
    window(plan, a).storage == window(plan, b).storage
}
