//! A layer of a small model, planned, proven and drawn: a residual stream that is updated in place, views, a cache that
//! outlives the run, working memory of one step, and a limit.
//!
//! `cargo run -p memplan --example quickstart`

use memplan::{
    Options, Overwrite, Pin, PlanError, Problem, Space, Step, Value, check, over_budget, plan,
    plan_unlimited, timeline,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ROW: u64 = 4096;
    let mut p = Problem::default();
    let ram = p.add_space(Space { name: "ram".into(), align: 64, limit: Some(64 << 10) });
    let value = |name: &str, bytes| Value::new(name, bytes, ram);

    // What is there before the first step, and what must be there after the last.
    let tokens = p.add_value(value("tokens", 64).pinned(Pin::Input));
    let cache = p.add_value(value("cache", 4 * ROW).pinned(Pin::Persistent));
    let logits = p.add_value(value("logits", 2 * ROW).pinned(Pin::Output));

    let x = p.add_value(value("x", ROW));
    p.add_step(Step::new("embed", [tokens], [x]));

    // One value that is looked into through two windows.
    let qk = p.add_value(value("qk", 2 * ROW));
    let q = p.add_value(value("q", ROW).viewing(qk, 0));
    let k = p.add_value(value("k", ROW).viewing(qk, ROW));
    p.add_step(Step::new("project", [x], [qk]));
    p.add_step(Step::new("store", [k], [cache]));

    let mixed = p.add_value(value("mixed", ROW));
    let sums = p.add_value(value("sums", 1000).pinned(Pin::Scratch));
    p.add_step(Step::new("attend", [q, cache], [mixed, sums]));

    // Each of these may write over what it reads; of several operands the one made first gives its storage.
    let added = p.add_value(value("x + mixed", ROW));
    p.add_step(
        Step::new("add", [mixed, x], [added])
            .overwriting(Overwrite { write: added, read: mixed })
            .overwriting(Overwrite { write: added, read: x }),
    );
    let wide = p.add_value(value("wide", 3 * ROW));
    let bent = p.add_value(value("bent", 3 * ROW));
    let narrow = p.add_value(value("narrow", ROW));
    let next = p.add_value(value("next x", ROW));
    p.add_step(Step::new("widen", [added], [wide]));
    p.add_step(Step::new("bend", [wide], [bent]).overwriting(Overwrite { write: bent, read: wide }));
    p.add_step(Step::new("narrow", [bent], [narrow]));
    p.add_step(
        Step::new("add again", [narrow, added], [next]).overwriting(Overwrite { write: next, read: added }),
    );
    p.add_step(Step::new("head", [next], [logits]));

    let planned = plan(&p, &Options::default())?;
    check(&p, &planned)?;
    print!("{}", timeline(&p, &planned));

    println!();
    for (value, placement) in p.values.iter().zip(&planned.placements) {
        match placement {
            Some(at) => println!("{:>10}: {:>5} bytes at {}", value.name, at.bytes, at.offset),
            None => println!("{:>10}: nobody needs it", value.name),
        }
    }
    assert_eq!(planned.placement(x).map(|at| at.offset), planned.placement(next).map(|at| at.offset));

    // Half of that is too little, and here is why.
    p.spaces[0].limit = Some(planned.spaces[0].bytes / 2);
    let refused = plan(&p, &Options::default());
    if let Err(PlanError::OverBudget(over)) = &refused {
        println!("\n{over}");
    }
    // The same verdict beside a plan that exists, where it may be drawn or compared.
    let unlimited = plan_unlimited(&p, &Options::default())?;
    assert_eq!(over_budget(&p, &unlimited).len(), 1);
    Ok(())
}
