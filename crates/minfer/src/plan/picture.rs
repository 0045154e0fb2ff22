//! A session's plan as a picture: every value, by every strategy.

use std::collections::HashMap;

use graph::Graph;
use memplan::{Pin, Strategy};
use picture::{Budget, Picture, SpaceUse, Term, live_bytes};
use runtime::{Blueprint, PlannedGraph};

use super::other::CODE;
use super::{MemoryLimit, Plan};
use crate::session::SessionOptions;
use crate::{Error, Model};

/// The planners that the picture compares, the one that is used last.
const STRATEGIES: [(&str, Strategy); 4] = [
    ("naive", Strategy::Naive),
    ("size_class", Strategy::SizeClass),
    ("best_fit", Strategy::BestFit),
    ("packed", Strategy::Packed),
];

impl Model {
    /// The picture of a session's arena while it runs from token ids to hidden rows, with the cache and the budget beside
    /// it. Draw it with [`picture::svg`] or [`picture::html`].
    pub fn plan_picture(
        &self,
        options: &SessionOptions,
        threads: usize,
        tokens: Option<usize>,
        limit: Option<MemoryLimit>,
    ) -> Result<Picture, Error> {
        let plan = self.plan(options, threads, tokens)?;
        let mut picture = Picture::default();
        for (name, strategy) in STRATEGIES {
            let blueprint = self.blueprint(options, threads, strategy)?;
            if picture.values.is_empty() {
                fill_steps(&mut picture, &blueprint.body);
                fill_values(&mut picture, &blueprint.body);
                fill_regions(&mut picture, &blueprint, plan.settings.tokens);
            }
            // Where values take over windows is seen in the plan that is used.
            if strategy == Strategy::Packed {
                note_in_place(&mut picture, &blueprint.body);
            }
            picture.strategies.push(strategy_of(name, &blueprint.body));
        }
        picture.shown = STRATEGIES.len() - 1;
        picture.title = self.name();
        picture.settings = settings(&plan);
        picture.budget = budget(&plan, limit);
        Ok(picture)
    }
}

fn settings(plan: &Plan) -> Vec<String> {
    let s = &plan.settings;
    let types = format!("keys {}, values {}", s.type_k, s.type_v).to_lowercase();
    let plural = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    vec![
        format!("{} of {}", plural(s.n_seq, "sequence"), plural(s.n_ctx, "position")),
        format!("batches of {}", plural(s.n_ubatch, "token")),
        format!("{types}, {}, {}", plural(s.threads, "thread"), s.isa.name()),
    ]
}

fn budget(plan: &Plan, limit: Option<MemoryLimit>) -> Budget {
    let (mapped, code) = match limit {
        Some(limit) if limit.with_mapped => (plan.weights_mapped, CODE),
        _ => (0, 0),
    };
    let terms = [
        ("mapped weights", mapped),
        ("mapped program", code),
        ("copied weights", plan.weights_copied),
        ("KV cache", plan.kv_committed),
        ("arenas", plan.arena_bytes()),
        ("rows of the head", plan.head),
        ("tokenizer", plan.other.tokenizer),
        ("everything else", plan.other.total() - plan.other.tokenizer),
    ];
    let terms = terms.into_iter().filter(|(_, bytes)| *bytes > 0);
    let terms = terms.map(|(label, bytes)| Term { label: label.to_owned(), bytes }).collect();
    Budget { limit: limit.map(|limit| limit.bytes), terms }
}

fn fill_steps(picture: &mut Picture, body: &PlannedGraph) {
    let graph = &body.placed.graph;
    picture.steps.extend(graph.node_ids().map(|id| {
        let node = graph.node(id);
        let layer = node.layer.map(|layer| layer as u32);
        picture::Step { name: node.name.clone(), kind: graph.facts(id).label.to_owned(), layer }
    }));
}

fn fill_values(picture: &mut Picture, body: &PlannedGraph) {
    let graph = &body.placed.graph;
    let problem = &body.memory.problem;
    picture.spaces.extend(problem.spaces.iter().map(|s| picture::Space { name: s.name.clone() }));
    let of_graph: HashMap<memplan::ValueId, graph::ValueId> =
        body.memory.copies().map(|(value, _, planned)| (planned, value)).collect();
    let end = problem.steps.len().saturating_sub(1);
    for (v, value) in problem.values.iter().enumerate() {
        let whole_run = matches!(value.pin, Pin::Input | Pin::Fresh | Pin::Persistent);
        let id = of_graph.get(&memplan::ValueId::new(v));
        picture.values.push(picture::Value {
            name: value.name.clone(),
            kind: id.map_or("scratch", |id| kind(graph, *id)).to_owned(),
            shape: id.map_or_else(String::new, |id| graph.value(*id).shape.to_string()),
            dtype: id.map_or_else(String::new, |id| graph.value(*id).dtype.name().to_lowercase()),
            bytes: value.bytes,
            space: value.space.index(),
            first: if whole_run { 0 } else { end },
            last: if whole_run || value.pin == Pin::Output { end } else { 0 },
            in_place_of: None,
        });
    }
    let root = |mut v: memplan::ValueId| {
        while let Some(view) = &problem.values[v.index()].view_of {
            v = view.parent;
        }
        v.index()
    };
    for (s, step) in problem.steps.iter().enumerate() {
        for write in &step.writes {
            let value = &mut picture.values[root(*write)];
            (value.first, value.last) = (value.first.min(s), value.last.max(s));
        }
        for read in &step.reads {
            let value = &mut picture.values[root(*read)];
            value.last = value.last.max(s);
        }
    }
}

/// The label of what makes a value.
fn kind(graph: &Graph, id: graph::ValueId) -> &'static str {
    match graph.value(id).source {
        graph::Source::Node { node, .. } => graph.facts(node).label,
        graph::Source::Input | graph::Source::Weight => "input",
    }
}

fn fill_regions(picture: &mut Picture, blueprint: &Blueprint, tokens: usize) {
    picture.regions.extend(blueprint.regions().iter().map(|region| picture::Region {
        name: region.name.clone(),
        bytes_reserved: blueprint.region_bytes(region, None),
        bytes_committed: blueprint.region_bytes(region, Some(tokens)),
        device: "cpu".to_owned(),
    }));
}

fn note_in_place(picture: &mut Picture, body: &PlannedGraph) {
    let problem = &body.memory.problem;
    for storage in &body.memory.plan.storages {
        let is_view = |v: &usize| problem.values[*v].view_of.is_some();
        let mut members: Vec<usize> =
            storage.members.iter().map(|v| v.index()).filter(|v| !is_view(v)).collect();
        members.sort_by_key(|v| picture.values[*v].first);
        for pair in members.windows(2) {
            picture.values[pair[1]].in_place_of = Some(pair[0]);
        }
    }
}

fn strategy_of(name: &str, body: &PlannedGraph) -> picture::Strategy {
    let (problem, plan) = (&body.memory.problem, &body.memory.plan);
    let used = |(s, report): (usize, &memplan::SpaceReport)| {
        let here = plan.storages.iter().filter(|storage| storage.space.index() == s);
        let windows = here.map(|s| (s.bytes, s.first as usize, s.last as usize));
        SpaceUse {
            bytes: report.bytes,
            lower_bound: report.lower_bound,
            proven: report.proven,
            bound_step: report.bound_step.index(),
            bound_values: report.bound_values.iter().map(|v| v.index()).collect(),
            live: live_bytes(problem.steps.len(), windows),
        }
    };
    let is_view = |v: usize| problem.values[v].view_of.is_some();
    let placed = plan.placements.iter().enumerate();
    picture::Strategy {
        name: name.to_owned(),
        offsets: placed.map(|(v, p)| p.as_ref().filter(|_| !is_view(v)).map(|p| p.offset)).collect(),
        spaces: plan.spaces.iter().enumerate().map(used).collect(),
    }
}
