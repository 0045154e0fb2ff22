//! `minfer plan`.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use minfer::{
    ArenaPlan, EmbedOptions, Freedom, MemoryLimit, Model, Plan, Proposal, SessionOptions, human_bytes,
    picture,
};
use serde_json::{Value as Json, json};

use super::{JSON_VERSION, beside_the_file, load, print_json, print_text, session_options, threads};
use crate::args::{MachineArgs, PlanArgs};
use crate::container;

/// Values that `--explain` names.
const EXPLAINED: usize = 5;
/// Characters of the longest bar.
const BAR: f64 = 32.0;

/// All that is said of a plan.
struct Report {
    plan: Plan,
    /// What it is measured against, and where that comes from.
    limit: Option<(MemoryLimit, &'static str)>,
    would_fit: Vec<Proposal>,
    /// The same with half the batch, for the explanation.
    half: Option<Plan>,
}

pub fn run(args: PlanArgs, machine: &MachineArgs) -> Result<()> {
    let model = load(&args.model, &args.engine.load)?;
    let asked = session_options(&model, &args.engine, machine, args.tokens.unwrap_or(0))?;
    let options = SessionOptions { n_seq: args.parallel, memory: None, ..asked };
    // What an encoder can be used for.
    let embedding = || EmbedOptions { session: options, ..EmbedOptions::default() }.session_options(&model);
    let options = if model.config().arch.encoder { embedding()? } else { options };
    let threads = threads(machine);
    let plan = model.plan(&options, threads, args.tokens)?;
    let limit = limit(&args);
    let would_fit = match limit {
        Some((limit, _)) if !limit.holds(&plan) => {
            model.would_fit(&options, threads, limit, &Freedom::ALL)?
        }
        _ => Vec::new(),
    };
    let halved = SessionOptions { n_ubatch: plan.settings.n_ubatch / 2, ..options };
    let half = (args.explain && halved.n_ubatch > 0)
        .then(|| model.plan(&halved, threads, args.tokens))
        .transpose()?;
    if args.check {
        model.check_plan(&options, threads)?;
    }
    draw(&args, &model, &options, limit.map(|(limit, _)| limit), threads)?;
    let report = Report { plan, limit, would_fit, half };
    if args.engine.json {
        return print_json(&to_json(&args, &model, &report));
    }
    print_text(&for_people(&args, &model, &report)?)
}

/// The limit that was asked for, the container's, or the machine's memory.
fn limit(args: &PlanArgs) -> Option<(MemoryLimit, &'static str)> {
    if let Some(limit) = args.engine.memory.limit() {
        return Some((limit, "asked for"));
    }
    if let Some(limit) = container::memory_limit().and_then(beside_the_file) {
        return Some((limit, "of this container"));
    }
    Some((container::machine_memory().and_then(beside_the_file)?, "of this machine"))
}

/// Writes the pictures that were asked for.
fn draw(
    args: &PlanArgs,
    model: &Model,
    options: &SessionOptions,
    limit: Option<MemoryLimit>,
    threads: usize,
) -> Result<()> {
    if args.svg.is_none() && args.html.is_none() {
        return Ok(());
    }
    let picture = model.plan_picture(options, threads, args.tokens, limit)?;
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &args.svg {
        write(path, picture::svg(&picture))?;
    }
    if let Some(path) = &args.html {
        write(path, picture::html(&picture))?;
    }
    Ok(())
}

/// A plan for programs: sizes in bytes.
pub fn plan_json(plan: &Plan) -> Json {
    let arena = |arena: &ArenaPlan| {
        let needs = &arena.needs;
        json!({
            "device": arena.device,
            "bytes": needs.bytes,
            "lower_bound": needs.lower_bound,
            "proven": needs.bytes == needs.lower_bound,
            "naive": needs.naive,
            "size_class": arena.size_class,
            "values": needs.values,
        })
    };
    let settings = &plan.settings;
    json!({
        "settings": {
            "ctx_size": settings.n_ctx,
            "parallel": settings.n_seq,
            "ubatch_size": settings.n_ubatch,
            "kv_type_k": settings.type_k.name().to_lowercase(),
            "kv_type_v": settings.type_v.name().to_lowercase(),
            "tokens": settings.tokens,
            "threads": settings.threads,
            "isa": settings.isa.name(),
        },
        "weights": {"mapped": plan.weights_mapped, "copied": plan.weights_copied},
        "kv": {"reserved": plan.kv_reserved, "committed": plan.kv_committed, "per_token": plan.kv_per_token},
        "arenas": plan.arenas.iter().map(arena).collect::<Vec<_>>(),
        "scratch": plan.scratch(),
        "staging": plan.staging(),
        "head": plan.head,
        "other": plan.other.total(),
        "total": plan.total(),
    })
}

fn to_json(args: &PlanArgs, model: &Model, report: &Report) -> Json {
    let mut out = json!({"version": JSON_VERSION, "model": title(model)});
    let all = out.as_object_mut().expect("made above");
    all.extend(plan_json(&report.plan).as_object().cloned().unwrap_or_default());
    let limit = report.limit.as_ref().map(|(limit, _)| limit);
    out["memory"] = json!(limit.map(|limit| limit.bytes));
    out["fits"] = json!(limit.is_none_or(|limit| limit.holds(&report.plan)));
    let proposal = |proposal: &Proposal| {
        let changes = proposal.changes.iter().map(|(flag, value)| (flag.replace('-', "_"), json!(value)));
        json!({"changes": changes.collect::<serde_json::Map<_, _>>(), "total": proposal.plan.total()})
    };
    out["would_fit"] = report.would_fit.iter().map(proposal).collect();
    if args.check {
        out["checked"] = json!(true);
    }
    if args.explain {
        let arenas = report.plan.arenas.iter().map(|arena| {
            let values = arena.peak_values.iter().take(EXPLAINED);
            let values: Vec<Json> = values.map(|v| json!({"name": v.name, "bytes": v.bytes})).collect();
            json!({"device": arena.device, "step": arena.peak_step, "values": values})
        });
        out["peak"] = arenas.collect();
        out["arena_with_half_the_batch"] = json!(report.half.as_ref().map(Plan::arena_bytes));
    }
    out
}

fn title(model: &Model) -> String {
    let config = model.config();
    format!("{} ({}, {} layers)", model.name(), config.arch.name, config.n_layer)
}

fn for_people(args: &PlanArgs, model: &Model, report: &Report) -> Result<String> {
    let Report { plan, limit, would_fit, .. } = report;
    let settings = &plan.settings;
    let mut out = String::new();
    writeln!(out, "{}, trained for {} positions", title(model), model.config().n_ctx_train)?;
    let kv = if settings.type_k == settings.type_v {
        settings.type_k.name().to_lowercase()
    } else {
        format!("{} and {}", settings.type_k, settings.type_v).to_lowercase()
    };
    writeln!(
        out,
        "context {}{}, batches of {}, KV cache of {kv}, {} threads ({})\n",
        settings.n_ctx,
        if settings.n_seq > 1 { format!(" for each of {} sequences", settings.n_seq) } else { String::new() },
        settings.n_ubatch,
        settings.threads,
        settings.isa.name(),
    )?;
    let terms = terms(plan);
    let most = terms.iter().map(|(_, bytes, _)| *bytes).max().unwrap_or(1).max(1);
    for (term, bytes, note) in &terms {
        let bar = "█".repeat((*bytes as f64 / most as f64 * BAR).ceil() as usize);
        let pad = " ".repeat(BAR as usize - bar.chars().count());
        writeln!(out, "  {term:<16} {:>9}  {bar}{pad}  {note}", human_bytes(*bytes))?;
    }
    writeln!(out, "  {:<16} {:>9}", "total", human_bytes(plan.total()))?;
    let mapped = "used where the file lies; the system may drop it and read it again";
    writeln!(out, "  {:<16} {:>9}  {mapped}\n", "mapped weights", human_bytes(plan.weights_mapped))?;
    if let Some((limit, whose)) = limit {
        let (needed, allowed) = (limit.counted(plan), limit.bytes);
        let with = if limit.with_mapped { " with the mapped file" } else { "" };
        let verdict = if limit.holds(plan) { "fits" } else { "does not fit" };
        writeln!(out, "{verdict}: {}{with} of {} {whose}", human_bytes(needed), human_bytes(allowed))?;
        if !limit.holds(plan) {
            let none = "  nothing: no context, batch or KV type does";
            writeln!(out, "what would fit:")?;
            for proposal in would_fit {
                writeln!(out, "  {:>9}  {proposal}", human_bytes(limit.counted(&proposal.plan)))?;
            }
            if would_fit.is_empty() {
                writeln!(out, "{none}")?;
            }
        }
    }
    if args.check {
        writeln!(out, "checked: every read sees its own bytes, and nothing that lives overlaps")?;
    }
    if args.explain {
        explain(&mut out, report)?;
    }
    Ok(out)
}

/// Name, bytes, and what is worth knowing of each term of the total.
fn terms(plan: &Plan) -> Vec<(&'static str, u64, String)> {
    let settings = &plan.settings;
    let mut terms = Vec::new();
    if plan.weights_copied > 0 {
        terms.push(("copied weights", plan.weights_copied, String::new()));
    }
    let (each, reserved) = (human_bytes(plan.kv_per_token), human_bytes(plan.kv_reserved));
    let kv = format!("{} positions of {each}; address space {reserved}", settings.tokens * settings.n_seq);
    terms.push(("KV cache", plan.kv_committed, kv));
    for arena in &plan.arenas {
        let needs = &arena.needs;
        let proof = match needs.bytes == needs.lower_bound {
            true => "proven: no plan needs less".to_owned(),
            false => format!("no plan needs less than {}", human_bytes(needs.lower_bound)),
        };
        let (naive, classes) = (human_bytes(needs.naive), human_bytes(arena.size_class));
        terms.push(("arena", needs.bytes, format!("{proof}; size classes {classes}, no reuse {naive}")));
    }
    terms.push(("rows of the head", plan.head, String::new()));
    terms.push(("tokenizer", plan.other.tokenizer, String::new()));
    let rest = plan.other.total() - plan.other.tokenizer;
    terms.push(("everything else", rest, "program, template, threads: an upper bound".to_owned()));
    terms
}

fn explain(out: &mut String, report: &Report) -> Result<()> {
    for arena in &report.plan.arenas {
        writeln!(out, "\nthe arena is fullest at {}:", arena.peak_step)?;
        for value in arena.peak_values.iter().take(EXPLAINED) {
            writeln!(out, "  {:>9}  {}", human_bytes(value.bytes), value.name)?;
        }
        let more = arena.peak_values.len().saturating_sub(EXPLAINED);
        if more > 0 {
            writeln!(out, "  and {more} smaller")?;
        }
    }
    let half = report.half.as_ref();
    if let Some(half) = half.filter(|half| half.arena_bytes() < report.plan.arena_bytes()) {
        let (n, bytes) = (half.settings.n_ubatch, human_bytes(half.arena_bytes()));
        writeln!(out, "with --ubatch-size {n} the arena takes {bytes}")?;
    }
    Ok(())
}
