//! The subcommands, one file each, and what they share.

mod about;
mod bench;
mod cached;
mod chat;
mod constraint;
mod cpu;
mod embed;
mod gguf;
mod inspect;
mod logits;
mod perplexity;
mod plan;
mod prompt_cache;
mod pull;
mod run;
mod serve;
mod tokenize;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use minfer::{
    DType, Freedom, MemoryLimit, Model, RopeOverrides, Session, SessionOptions, ThreadPool, Verified,
    choose_context, default_threads, human_bytes,
};
use serde_json::Value as Json;

use crate::args::{Cli, Command, EngineArgs, LoadArgs, MachineArgs};
use crate::values::GraphFile;
use crate::{container, models, tell};
use plan::plan_json;

/// What `"version"` says in JSON objects: it grows when a key changes its meaning or goes away.
const JSON_VERSION: u32 = 1;

/// Runs the subcommand; says which code the process ends with.
pub fn dispatch(cli: Cli, started: Instant) -> Result<ExitCode> {
    let machine = cli.machine;
    match cli.command {
        Command::Run(args) => return run::run(*args, &machine, started),
        Command::Chat(args) => return chat::run(*args, &machine),
        Command::Serve(args) => serve::run(*args, &machine),
        Command::Embed(args) => embed::run(args, &machine),
        Command::Logits(args) => logits::run(args, &machine),
        Command::Tokenize(args) => tokenize::run(args),
        Command::Perplexity(args) => perplexity::run(args, &machine),
        Command::Plan(args) => plan::run(*args, &machine),
        Command::Inspect(args) => inspect::run(args),
        Command::Bench(args) => bench::run(args, &machine),
        Command::Cpu(args) => cpu::run(args),
        Command::Completions(args) => about::completions(args),
        Command::Man(args) => about::man(args),
        Command::Pull(args) => pull::run(args),
        Command::List(args) => cached::list(args),
        Command::Rm(args) => cached::remove(args),
        Command::Gguf(args) => gguf::run(args.tool),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// A model by path or name, to share.
fn load(model: &str, args: &LoadArgs) -> Result<Arc<Model>> {
    open(model, args).map(Arc::new)
}

/// A model by path or name.
fn open(model: &str, args: &LoadArgs) -> Result<Model> {
    let model = Model::load_with(models::resolve(model)?, &args.options())?;
    if args.mlock
        && let Err(error) = model.lock_weights()
    {
        tell(&format!("note: {error}: going on without --mlock"));
    }
    Ok(model)
}

/// A model with the chat template that was asked for.
fn chat_model(model: &str, load: &LoadArgs, template: Option<&str>) -> Result<Arc<Model>> {
    let model = open(model, load)?;
    let Some(template) = template else { return Ok(Arc::new(model)) };
    let source = match minfer::named_template(template) {
        Some(source) => source.to_owned(),
        None => std::fs::read_to_string(template).with_context(|| {
            let names = minfer::template_names().collect::<Vec<_>>().join(", ");
            format!("--chat-template {template}: neither a known name ({names}) nor a file that can be read")
        })?,
    };
    Ok(Arc::new(model.with_chat_template(&source)?))
}

/// The threads that were asked for, or one a physical core; more than can run at once only hold each other up.
fn threads(machine: &MachineArgs) -> usize {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    match machine.threads {
        Some(n) if n > 0 => usize::try_from(n).unwrap_or(usize::MAX).min(most),
        _ => default_threads(),
    }
}

fn pool(machine: &MachineArgs) -> Arc<ThreadPool> {
    Arc::new(ThreadPool::new(told_threads(machine)))
}

/// How many threads there will be; a note says so where more were asked for.
fn told_threads(machine: &MachineArgs) -> usize {
    let threads = threads(machine);
    if let Some(asked) = machine.threads.filter(|asked| *asked > threads as i64) {
        tell(&format!("note: {asked} threads asked for, {threads} can run at once: using {threads}"));
    }
    threads
}

/// What a session is made with; `needed` positions are what the run would take, if it is known. With `--fit`, what no flag
/// says is changed until it holds the limit.
fn session_options(
    model: &Model,
    engine: &EngineArgs,
    machine: &MachineArgs,
    needed: usize,
) -> Result<SessionOptions> {
    session_options_over(SessionOptions::default(), model, engine, machine, needed)
}

/// The same, with what no flag of all commands says as it is in `plain`.
fn session_options_over(
    plain: SessionOptions,
    model: &Model,
    engine: &EngineArgs,
    machine: &MachineArgs,
    needed: usize,
) -> Result<SessionOptions> {
    let trained = model.config().n_ctx_train;
    // Who turns positions otherwise than the file says knows how many there may be.
    let stretched = engine.load.options().rope != RopeOverrides::default();
    let trained = if stretched { trained.max(engine.ctx_size.unwrap_or(0)) } else { trained };
    let context = choose_context(engine.ctx_size, needed, trained);
    if let Some(asked) = context.clamped_from {
        tell(&format!("note: --ctx-size {asked} is more than the model was trained for: using {trained}"));
    }
    let kv_type = |own: Option<DType>| own.or(engine.kv_type).unwrap_or(DType::F16);
    let options = SessionOptions {
        n_ctx: context.n_ctx,
        n_ubatch: engine.ubatch_size.unwrap_or(plain.n_ubatch),
        type_k: kv_type(engine.kv_type_k),
        type_v: kv_type(engine.kv_type_v),
        isa: machine.isa,
        reference: engine.reference,
        verify_memory: engine.verify_memory,
        memory: engine.memory.limit().or_else(|| beside_the_file(container::memory_limit()?)),
        ..plain
    };
    if engine.memory.fit { fitted(model, engine, machine, &options, needed) } else { Ok(options) }
}

/// A limit for everything but the mapped file.
fn beside_the_file(bytes: u64) -> Option<MemoryLimit> {
    Some(MemoryLimit { bytes, with_mapped: false })
}

/// The options with what no flag says changed until they hold the limit: the one asked for, or the machine's memory. Where
/// nothing holds it they stay as they are, and making the session says why it cannot be made.
fn fitted(
    model: &Model,
    engine: &EngineArgs,
    machine: &MachineArgs,
    options: &SessionOptions,
    needed: usize,
) -> Result<SessionOptions> {
    let Some(limit) = options.memory.or_else(|| beside_the_file(container::machine_memory()?)) else {
        return Ok(*options);
    };
    let options = SessionOptions { memory: Some(limit), ..*options };
    let freedom = Freedom {
        ubatch: engine.ubatch_size.is_none(),
        ctx_from: engine.ctx_size.is_none().then_some(needed.max(1)),
        kv_type: engine.kv_type.or(engine.kv_type_k).or(engine.kv_type_v).is_none(),
    };
    let Some(found) = model.fit(&options, threads(machine), limit, &freedom)? else { return Ok(options) };
    if !found.changes.is_empty() {
        let (taken, allowed) = (human_bytes(limit.counted(&found.plan)), human_bytes(limit.bytes));
        tell(&format!("note: --fit: {found}, which takes {taken} of {allowed}"));
    }
    Ok(found.options)
}

/// A session; writes the graph first if that was asked for.
fn session(
    model: &Arc<Model>,
    engine: &EngineArgs,
    machine: &MachineArgs,
    options: &SessionOptions,
) -> Result<Session> {
    write_graph(model, engine, options)?;
    let mut session = Session::new(model.clone(), pool(machine), options)?;
    tell_verified(&session);
    tell_more_than_machine(session.engine().memory().kv_bytes_reserved);
    Ok(session)
}

/// Says so where a full cache is larger than the machine's memory. That is no error: memory is taken as positions are used.
fn tell_more_than_machine(cache: u64) {
    if let Some(machine) = container::machine_memory().filter(|machine| cache > *machine) {
        let (cache, machine) = (human_bytes(cache), human_bytes(machine));
        tell(&format!(
            "note: a full KV cache takes {cache}, more than the {machine} of this machine: there is no memory for all positions \
             (--fit or a smaller --ctx-size helps)"
        ));
    }
}

/// Writes the graph, if that was asked for.
fn write_graph(model: &Model, engine: &EngineArgs, options: &SessionOptions) -> Result<()> {
    let Some(GraphFile { path, format }) = &engine.dump_graph else { return Ok(()) };
    let dump = model.dump_graph(options, *format)?;
    std::fs::write(path, dump).with_context(|| format!("cannot write {}", path.display()))
}

/// Says what was found out about memory, if that was asked for.
fn tell_verified(session: &Session) {
    if let Some(Verified { tokens, calls, windows }) = session.verified() {
        tell(&format!(
            "note: memory is as planned: {tokens} tokens gave the same rows with guards around {windows} windows of {calls} \
             calls, and with all other memory poisoned, as it is from here on"
        ));
    }
}

/// One JSON value on standard output.
fn print_json(value: &Json) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}").context("cannot write to standard output")
}

/// A line or several on standard output.
fn print_text(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("cannot write to standard output")
}
