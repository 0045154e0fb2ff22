//! A program like that of a decoder of language models, planned, as a picture.

use std::collections::BTreeMap;

use memplan::{Options, Overwrite, Pin, Plan, Problem, SpaceId, Strategy, ValueId};
use picture::{Budget, Picture, Region, Space, SpaceUse, Step, Term, Value, live_bytes};

/// Sizes of the made-up model.
pub struct Shape {
    /// Number of layers.
    pub layers: u32,
    /// Number of devices that the layers are cut over, in order.
    pub devices: usize,
    /// Tokens in a batch.
    pub tokens: u64,
    /// Width of the residual stream.
    pub width: u64,
    /// Width inside the feed-forward part.
    pub inner: u64,
    /// Width of keys, and of values.
    pub kv: u64,
    /// Number of tokens that it knows.
    pub vocabulary: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { layers: 24, devices: 1, tokens: 512, width: 896, inner: 4864, kv: 128, vocabulary: 151_936 }
    }
}

/// The picture of a model's plan, by every strategy of the planner.
pub fn picture(shape: &Shape) -> Picture {
    let mut program = Program::new(shape.devices);
    program.decoder(shape);
    let Program { problem, mut picture, .. } = program;

    let strategies = [
        ("naive", Strategy::Naive),
        ("size_class", Strategy::SizeClass),
        ("best_fit", Strategy::BestFit),
        ("packed", Strategy::Packed),
    ];
    for (name, strategy) in strategies {
        let plan =
            memplan::plan(&problem, &Options { strategy, in_place: true }).expect("the program is sound");
        memplan::check(&problem, &plan).expect("the plan is sound");
        note_lives(&mut picture, &plan);
        picture.strategies.push(strategy_of(name, &problem, &plan));
    }
    picture.shown = strategies.len() - 1;
    picture.title = format!("demo decoder, {} layers", shape.layers);
    picture.settings = vec![
        format!("{} tokens a batch, width {}, inner {}", shape.tokens, shape.width, shape.inner),
        "f32 activations, q8 rows for matrix products, in place where allowed".to_owned(),
    ];
    keep_beside(&mut picture, shape);
    picture
}

/// Regions of the cache and the budget, in sizes like those of a small model.
fn keep_beside(picture: &mut Picture, shape: &Shape) {
    for layer in 0..shape.layers {
        let device = picture.spaces[device_of(layer, shape)].name.clone();
        for part in ["keys", "values"] {
            picture.regions.push(Region {
                name: format!("layer {layer} {part}"),
                bytes_reserved: 4096 * shape.kv * 2,
                bytes_committed: 1536 * shape.kv * 2,
                device: device.clone(),
            });
        }
    }
    let arenas: u64 = picture.strategies[picture.shown].spaces.iter().map(|used| used.bytes).sum();
    let cache = picture.regions.iter().map(|r| r.bytes_committed).sum();
    let term = |label: &str, bytes| Term { label: label.to_owned(), bytes };
    let terms = vec![
        term("weights", 397 << 20),
        term("cache", cache),
        term("arenas", arenas),
        term("staging", 2 << 20),
        term("program", 600 << 10),
    ];
    picture.budget = Budget { limit: Some(512 << 20), terms };
}

/// Which value takes over which window, from a plan that allows it.
fn note_lives(picture: &mut Picture, plan: &Plan) {
    for storage in &plan.storages {
        let mut members: Vec<usize> = storage.members.iter().map(|v| v.index()).collect();
        members.sort_by_key(|&v| picture.values[v].first);
        for pair in members.windows(2) {
            picture.values[pair[1]].in_place_of = Some(pair[0]);
        }
    }
}

/// A plan as the picture has it.
fn strategy_of(name: &str, problem: &Problem, plan: &Plan) -> picture::Strategy {
    let used = |(s, report): (usize, &memplan::SpaceReport)| {
        let here = plan.storages.iter().filter(|storage| storage.space.index() == s);
        SpaceUse {
            bytes: report.bytes,
            lower_bound: report.lower_bound,
            proven: report.proven,
            bound_step: report.bound_step.index(),
            bound_values: report.bound_values.iter().map(|v| v.index()).collect(),
            live: live_bytes(problem.steps.len(), here.map(|s| (s.bytes, s.first as usize, s.last as usize))),
        }
    };
    picture::Strategy {
        name: name.to_owned(),
        offsets: plan.placements.iter().map(|p| p.as_ref().map(|p| p.offset)).collect(),
        spaces: plan.spaces.iter().enumerate().map(used).collect(),
    }
}

fn device_of(layer: u32, shape: &Shape) -> usize {
    layer as usize * shape.devices / shape.layers.max(1) as usize
}

/// The program as the planner and as the picture have it; a value has the same index in both.
struct Program {
    problem: Problem,
    picture: Picture,
    layer: Option<u32>,
    space: usize,
    /// Inputs by name and space: each device has a copy.
    inputs: BTreeMap<(&'static str, usize), ValueId>,
}

impl Program {
    fn new(devices: usize) -> Self {
        let mut problem = Problem::default();
        let mut picture = Picture::default();
        for device in 0..devices {
            let name = if device + 1 == devices { "cpu".to_owned() } else { format!("gpu{device}") };
            problem.add_space(memplan::Space { name: name.clone(), align: 64, limit: None });
            picture.spaces.push(Space { name });
        }
        Self { problem, picture, layer: None, space: 0, inputs: BTreeMap::new() }
    }

    fn value(
        &mut self,
        name: &str,
        kind: &str,
        (rows, columns): (u64, u64),
        dtype: &str,
        pin: Pin,
    ) -> ValueId {
        // A row of q8 has 34 bytes for 32 elements.
        let bytes = match dtype {
            "q8" => rows.div_ceil(32) * 34 * columns,
            "f16" => rows * columns * 2,
            _ => rows * columns * 4,
        };
        let first = self.problem.steps.len();
        // Inputs are there for the whole run; others grow when they are read.
        let last = if pin == Pin::Input { usize::MAX } else { first };
        self.picture.values.push(Value {
            name: name.to_owned(),
            kind: kind.to_owned(),
            shape: format!("{rows} x {columns}"),
            dtype: dtype.to_owned(),
            bytes,
            space: self.space,
            first: if pin == Pin::Input { 0 } else { first },
            last,
            in_place_of: None,
        });
        self.problem.add_value(memplan::Value::new(name, bytes, SpaceId::new(self.space)).pinned(pin))
    }

    fn input(&mut self, name: &'static str, shape: (u64, u64), dtype: &str) -> ValueId {
        if let Some(&there) = self.inputs.get(&(name, self.space)) {
            return there;
        }
        let value = self.value(name, "input", shape, dtype, Pin::Input);
        self.inputs.insert((name, self.space), value);
        value
    }

    /// A step that makes one value from others; the first of `over` that may be overwritten is offered.
    fn step(&mut self, kind: &str, name: &str, reads: &[ValueId], write: Made, over: &[ValueId]) -> ValueId {
        let name = self.layer.map_or_else(|| name.to_owned(), |layer| format!("l{layer}.{name}"));
        let Made { shape, dtype, scratch, pin } = write;
        let made = self.value(&name, kind, shape, dtype, pin);
        let mut writes = vec![made];
        if let Some(rows) = scratch {
            writes.push(self.value(&format!("{name}.scratch"), "scratch", rows, dtype, Pin::Scratch));
        }
        let at = self.problem.steps.len();
        for &read in reads {
            let life = &mut self.picture.values[read.index()];
            life.last = life.last.max(at);
        }
        let mut step = memplan::Step::new(&name, reads.iter().copied(), writes);
        for &read in over {
            step = step.overwriting(Overwrite { write: made, read });
        }
        self.problem.add_step(step);
        self.picture.steps.push(Step { name, kind: kind.to_owned(), layer: self.layer });
        made
    }

    fn decoder(&mut self, shape: &Shape) {
        let &Shape { tokens, width, inner, kv, vocabulary, .. } = shape;
        let ids = self.input("tokens", (1, tokens), "i32");
        let mut x = self.step("GetRows", "embed", &[ids], made((width, tokens)), &[]);
        for layer in 0..shape.layers {
            let space = device_of(layer, shape);
            if space != self.space {
                self.layer = None;
                self.space = space;
                x = self.step("Copy", "stage", &[x], made((width, tokens)), &[]);
            }
            self.layer = Some(layer);
            let table = self.input("rope table", (64, tokens), "f32");
            let pages = self.input("page table", (128, 1), "i32");
            let slots = self.input("slots", (1, tokens), "i32");

            let norm = self.step("RmsNorm", "attn_norm", &[x], made((width, tokens)), &[]);
            let rows = self.step("Quantize", "attn_norm.q8", &[norm], of("q8", (width, tokens)), &[]);
            let q = self.step("MatMul", "q", &[rows], made((width, tokens)), &[]);
            let k = self.step("MatMul", "k", &[rows], made((kv, tokens)), &[]);
            let v = self.step("MatMul", "v", &[rows], made((kv, tokens)), &[]);
            let q = self.step("Rope", "q.rope", &[q, table], made((width, tokens)), &[q]);
            let k = self.step("Rope", "k.rope", &[k, table], made((kv, tokens)), &[k]);
            let k = self.step("KvStore", "k.store", &[k, slots], made((1, 1)), &[]);
            let v = self.step("KvStore", "v.store", &[v, slots], made((1, 1)), &[]);
            let heads = Made { scratch: Some((1024, 14 * 8)), ..made((width, tokens)) };
            let heads = self.step("Attention", "attention", &[q, k, v, pages], heads, &[]);
            let rows = self.step("Quantize", "attention.q8", &[heads], of("q8", (width, tokens)), &[]);
            let out = self.step("MatMul", "attn_out", &[rows], made((width, tokens)), &[]);
            let sum = self.step("Add", "attn_add", &[x, out], made((width, tokens)), &[x, out]);

            let norm = self.step("RmsNorm", "ffn_norm", &[sum], made((width, tokens)), &[]);
            let rows = self.step("Quantize", "ffn_norm.q8", &[norm], of("q8", (width, tokens)), &[]);
            let up = self.step("MatMul", "up", &[rows], made((inner, tokens)), &[]);
            let gate = self.step("MatMul", "gate", &[rows], made((inner, tokens)), &[]);
            let glu = self.step("Glu", "glu", &[gate, up], made((inner, tokens)), &[gate, up]);
            let rows = self.step("Quantize", "glu.q8", &[glu], of("q8", (inner, tokens)), &[]);
            let down = self.step("MatMul", "down", &[rows], made((width, tokens)), &[]);
            x = self.step("Add", "ffn_add", &[sum, down], made((width, tokens)), &[sum, down]);
        }
        self.layer = None;
        let wanted = self.input("rows wanted", (1, 8), "i32");
        let last = self.step("GetRows", "last", &[x, wanted], made((width, 8)), &[]);
        let norm = self.step("RmsNorm", "out_norm", &[last], made((width, 8)), &[last]);
        let logits = Made { pin: Pin::Output, ..made((vocabulary, 8)) };
        self.step("MatMul", "logits", &[norm], logits, &[]);
        let end = self.problem.steps.len() - 1;
        for value in &mut self.picture.values {
            value.last = value.last.min(end);
        }
    }
}

/// What a step makes.
struct Made {
    shape: (u64, u64),
    dtype: &'static str,
    scratch: Option<(u64, u64)>,
    pin: Pin,
}

fn made(shape: (u64, u64)) -> Made {
    of("f32", shape)
}

fn of(dtype: &'static str, shape: (u64, u64)) -> Made {
    Made { shape, dtype, scratch: None, pin: Pin::None }
}
