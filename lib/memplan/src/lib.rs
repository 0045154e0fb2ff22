//! Plans where values of known size and known life live in memory, proves the result, and shows it.
//!
//! A program is a list of steps that read and write values. [`plan()`] gives every value an offset, so that values which are
//! never needed at the same time share bytes; [`check()`] proves such a plan by running the program over it;
//! [`timeline()`] draws it. `examples/quickstart.rs` shows all of it on one layer of a model.
//!
//! # Terms
//!
//! - A **value** is a number of bytes that one step makes and later steps read.
//! - A **step** is one piece of work. The order of [`Problem::steps`] is the order of execution, and the only order
//!   that this crate knows.
//! - A **space** is one range of bytes that starts at offset 0; every value names the space it lives in. Nothing is ever
//!   shared between two spaces.
//! - A **view** is another name for a window of its parent. It costs no memory and extends its parent's life.
//! - A **storage** is what one or more values share: views share the storage of their parent, and a write that may
//!   *overwrite* a read may take over that read's storage (in place).
//! - The **live range** of a storage runs from its first write to its last read, both inclusive, counted in steps.
//!   Two storages whose live ranges have a step in common must not overlap.
//! - A **pin** says what else than its readers holds a value in memory ([`Pin`]).
//! - The **lower bound** of a space is the largest sum of live bytes at any step. No plan of the same storages can need
//!   less, so a plan that needs exactly that is proven to be the best one ([`SpaceReport::proven`]).
//!
//! # The rules
//!
//! 1. A value that nobody reads and that no [`Pin`] holds is dead: it gets no memory. Its step still runs.
//! 2. An [`Pin::Input`] lives from step 0 to the end and is never overwritten. An [`Pin::Output`] lives from its write to the
//!    end. A [`Pin::Fresh`] value has a window of its own for the whole run; a [`Pin::Persistent`] one as well, and it is
//!    there before the first step and after the last, for any number of steps to read and to write. A [`Pin::Scratch`]
//!    value lives for the step that lists it among its writes.
//! 3. Views are resolved first; everything after that is decided on storages.
//! 4. In place: a write takes the storage of a read when the step declares that [`Overwrite`], the step is the last
//!    reader of the whole storage, the storage holds no pinned value, the space is the same, the read starts where the
//!    storage starts and is at least as large as the write, and no other operand of the step lies in that storage (a
//!    value read twice by one step is two operands). Of several such storages the one written first wins, and the write
//!    with the longest life chooses first, so that a long chain of updates stays where it began. The storage then lives
//!    to the last reader of the result.
//! 5. A result smaller than the storage it would take over keeps all of it alive. A space does that only where its lower
//!    bound is not higher for it, so working in place never raises a lower bound.
//! 6. A window starts at a multiple of its space's alignment, and its storage fills whole multiples of it.
//!
//! Persistent values that several programs share belong in a space of their own, in the same order in each program: what
//! lives in a space has its offsets from that space alone.
//!
//! # Lives alone
//!
//! Who has no program, but a list of sizes with the first and the last step of each, calls [`pack()`] with [`Life`]s and
//! gets an offset for each: no values, steps or spaces, and nothing in place. [`plan()`] does the same with the storages of
//! a problem, once it is settled what shares one.
//!
//! # When it does not fit
//!
//! A space can have a [`Space::limit`]. A plan that needs more is an error, [`PlanError::OverBudget`], which says whether
//! the lower bound itself is over the limit ([`OverBudget::no_plan_fits`]) or only this plan, and which values hold most at
//! that step. [`plan_unlimited`] and [`over_budget`] give the same verdict beside the plan instead of in place of it.
//!
//! # The proof
//!
//! [`check()`] takes any plan of any origin. It needs nothing from the planner but the plain data of problem and plan, and
//! trusts neither. It keeps a map from bytes to the value that was written there last, runs every step over it, and
//! accepts a plan only if every read finds its own bytes over its whole window, no write touches an operand without the
//! right to, and everything pinned is intact at the end. Lives, sizes and lower bound are counted again from the program,
//! so that [`SpaceReport::proven`] is a statement about the program too. The tests plant each kind of fault a thousand
//! times for each strategy and expect every one to be found, and run small plans on real memory.
//!
//! # Example
//!
//! ```
//! use memplan::{Options, Overwrite, Pin, Problem, Space, Step, Strategy, Value, check, plan};
//!
//! let mut problem = Problem::default();
//! let ram = problem.add_space(Space { name: "ram".into(), align: 64, limit: Some(1 << 20) });
//! let x = problem.add_value(Value::new("x", 1000, ram).pinned(Pin::Input));
//! let a = problem.add_value(Value::new("a", 1000, ram));
//! let b = problem.add_value(Value::new("b", 1000, ram));
//! let y = problem.add_value(Value::new("y", 1000, ram).pinned(Pin::Output));
//! problem.add_step(Step::new("double", [x], [a]));
//! problem.add_step(Step::new("negate", [a], [b]).overwriting(Overwrite { write: b, read: a }));
//! problem.add_step(Step::new("mix", [x, b], [y]));
//!
//! let plan = plan(&problem, &Options { strategy: Strategy::Packed, in_place: true }).unwrap();
//! check(&problem, &plan).unwrap();
//! // `b` is made where `a` was; with `x` and `y` that is three windows of 1024 bytes, and no plan needs less.
//! assert_eq!(plan.placement(a).unwrap().offset, plan.placement(b).unwrap().offset);
//! assert_eq!(plan.spaces[0].bytes, 3 * 1024);
//! assert_eq!(plan.spaces[0].naive, 4 * 1024);
//! assert!(plan.spaces[0].proven);
//! ```
//!
//! # Sources
//!
//! Packing storages of known life is *dynamic storage allocation*, which is NP-hard in general. [`Strategy::Packed`] begins with
//! first fit over storages of decreasing size, the "greedy by size" of Pisarchyk and Lee, *Efficient Memory Management for
//! Deep Neural Net Inference* (2020), goes on to other quick placements where that misses the bound, and searches where all
//! of them do. The search follows Moffitt, *MiniMalloc* (2023): sections, canonical order, dominance, cuts; restarts and
//! the preference for what fits snugly are added. Related: TelaMalloc (Maas and others, 2022).
//! [`Strategy::SizeClass`] is the segregated free list of general-purpose allocators, [`Strategy::BestFit`] the list of free
//! blocks with which ggml lays out its graphs.
//!
//! # What this crate never does
//!
//! It does no I/O, has no dependency and no unsafe code, keeps no state between calls, and does not know what a value is
//! for. The same problem and options give the same plan. [`check()`] shares no code with [`plan()`].

#![forbid(unsafe_code)]

/// The example of the readme, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod problem;

mod plan;

mod bound;
mod budget;
mod facts;
mod pack;
mod size_class;
mod storages;

mod error;

mod check;
mod timeline;

pub use budget::{Held, OverBudget, over_budget};
pub use check::{Fault, check};
pub use error::PlanError;
pub use pack::{Life, Method, PackError, PackOptions, Packing, pack};
pub use plan::{Options, Placement, Plan, SpaceReport, Storage, Strategy, plan, plan_unlimited};
pub use problem::{
    Named, Overwrite, Pin, Problem, Space, SpaceId, Step, StepId, StorageId, Value, ValueId, View,
};
pub use timeline::timeline;
