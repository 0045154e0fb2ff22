//! `minfer run`.

use std::io::{self, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use minfer::{
    DateTime, Event, FinishReason, GenerateOptions, Generation, Model, RenderOptions, Sequence, Session,
    TokenLogprobs,
};
use serde_json::{Value as Json, json};

use super::prompt_cache::{self, Prepared};
use super::{
    JSON_VERSION, chat_model, constraint, plan_json, print_json, print_text, session, session_options,
};
use crate::args::{MachineArgs, RunArgs};
use crate::interrupt::{self, Interrupt};
use crate::process::measured_memory;
use crate::progress::Progress;
use crate::tell;

pub fn run(args: RunArgs, machine: &MachineArgs, started: Instant) -> Result<ExitCode> {
    let seed = u64::try_from(args.answer.sampling.seed).unwrap_or_else(|_| fresh_seed());
    let mut sampling = args.answer.sampling.settings(seed);
    let source = constraint::read(&args.constraint)?;
    let text = prompt_text(&args)?;
    let load_started = Instant::now();
    let model = chat_model(&args.model, &args.engine.load, args.answer.chat_template.as_deref())?;
    let constraint = source.map(|source| source.compile(&model)).transpose()?;
    let prompt = prompt_tokens(&model, &args, &text)?;
    let n_predict = args.answer.n_predict();
    let needed = prompt.len() + n_predict.unwrap_or(0);
    let options = session_options(&model, &args.engine, machine, needed)?;
    let mut session = session(&model, &args.engine, machine, &options)?;
    let load_time = load_started.elapsed();

    sampling.dry_sequence_breakers = model.sequence_breakers(&args.answer.sampling.breakers())?;
    let generate = GenerateOptions {
        n_predict,
        sampling,
        stop: args.answer.stop,
        logprobs: args.logprobs,
        ignore_eos: args.answer.sampling.ignore_eos,
        constraint,
    };
    let mut memory = Json::Null;
    let interrupt = Interrupt::catch()?;
    let prepared = match &args.prompt_cache {
        Some(path) => prompt_cache::read(&mut session, path, args.prompt_cache_ro, &prompt, &interrupt)?,
        None => Prepared { sequence: session.sequence(), cached: 0, time: Duration::ZERO },
    };
    let Prepared { mut sequence, cached, time } = prepared;
    let generation =
        answer(&mut session, &mut sequence, &prompt, &generate, args.engine.json, &mut memory, &interrupt)?;
    let prompt_time = generation.prompt_time + time;
    let generation = Generation { cached_tokens: cached, prompt_time, ..generation };
    let code = match generation.finish_reason {
        FinishReason::Cancelled => ExitCode::from(interrupt::EXIT_CODE),
        _ => ExitCode::SUCCESS,
    };
    if args.engine.json {
        let measured = Measured { started, load_time, memory };
        print_json(&to_json(&session, &prompt, &generate, &generation, &measured)?)?;
        return Ok(code);
    }
    print_text("\n")?;
    if generation.finish_reason == FinishReason::Context {
        tell(&format!("note: the answer ends here: the context of {} positions is full", session.n_ctx()));
    }
    let is_cut = matches!(generation.finish_reason, FinishReason::Length | FinishReason::Context);
    if generate.constraint.is_some() && is_cut {
        let tokens = generation.tokens.len();
        tell(&format!("note: the answer is cut off after {tokens} tokens, before it is what was asked for"));
    }
    if args.answer.sampling.temp > 0.0 && args.answer.sampling.seed < 0 && io::stderr().is_terminal() {
        tell(&format!("note: --seed {seed} gives this answer again"));
    }
    Ok(code)
}

/// From the argument, the option, the file or standard input, in that order.
fn prompt_text(args: &RunArgs) -> Result<String> {
    if let Some(text) = args.prompt.as_ref().or(args.prompt_option.as_ref()) {
        return Ok(text.clone());
    }
    if let Some(path) = &args.file {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        return Ok(without_last_newline(text));
    }
    if io::stdin().is_terminal() {
        bail!("there is no prompt: give one as an argument, with -p or -f, or on standard input");
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read standard input as text")?;
    Ok(without_last_newline(text))
}

/// Editors and `echo` end a text with a newline that nobody means.
pub(super) fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// A chat, unless there is no template or nothing is said: an empty prompt begins at the model's BOS, if it has
/// one.
fn prompt_tokens(model: &Model, args: &RunArgs, text: &str) -> Result<Vec<u32>> {
    let says_nothing = text.is_empty() || !model.has_template();
    if args.no_chat || (says_nothing && args.system_prompt.is_none()) {
        return Ok(model.tokenize(text, true)?);
    }
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let mut messages: Vec<Json> = args.system_prompt.iter().map(|s| message("system", s)).collect();
    messages.push(message("user", text));
    let options = RenderOptions { add_generation_prompt: true, now: Some(now()), ..RenderOptions::default() };
    Ok(model.tokenize_chat(&messages.into(), &options)?)
}

/// What chat templates call now.
fn now() -> DateTime {
    DateTime::from_unix(unix_now(), 0)
}

/// Seconds since 1970.
pub(super) fn unix_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}

/// Some seed that the next run will not have.
pub(super) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0xffff_ffff
}

fn answer(
    session: &mut Session,
    sequence: &mut Sequence,
    prompt: &[u32],
    options: &GenerateOptions,
    quiet: bool,
    memory: &mut Json,
    interrupt: &Interrupt,
) -> Result<Generation> {
    let mut progress = Progress::new("reading the prompt");
    let most = options.n_predict.unwrap_or(usize::MAX).min(session.n_ctx().saturating_sub(prompt.len()));
    let mut tokens = 0;
    let mut failure = None;
    let mut out = io::stdout().lock();
    let generation = session.generate_in(sequence, prompt, options, &mut |event| {
        match event {
            Event::Prompt { done, total } => progress.set(done as u64, total as u64),
            Event::Token { .. } if quiet => {
                if tokens == 0 {
                    progress.finish();
                    progress = Progress::new("answering");
                }
                tokens += 1;
                progress.set(tokens, most as u64);
            }
            Event::Text(text) if !quiet && failure.is_none() => {
                progress.finish();
                failure = out.write_all(text.as_bytes()).and_then(|()| out.flush()).err();
            }
            // What the answer took is in use until this event is over.
            Event::Finished(_) if quiet => *memory = measured_memory(),
            Event::Token { .. } | Event::Text(_) | Event::Finished(_) => {}
        }
        if failure.is_some() || interrupt.happened() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    progress.finish();
    match failure {
        Some(error) => Err(error).context("cannot write to standard output"),
        None => Ok(generation),
    }
}

struct Measured {
    started: Instant,
    load_time: Duration,
    memory: Json,
}

fn to_json(
    session: &Session,
    prompt: &[u32],
    options: &GenerateOptions,
    generation: &Generation,
    measured: &Measured,
) -> Result<Json> {
    let ms = |d: Duration| d.as_secs_f64() * 1000.0;
    let rate = |n: usize, d: Duration| if d.is_zero() { 0.0 } else { n as f64 / d.as_secs_f64() };
    let memory = &generation.memory;
    let plan = session.plan(prompt.len() + generation.tokens.len())?;
    let mut out = json!({
        "version": JSON_VERSION,
        "prompt_tokens": prompt,
        "cached_tokens": generation.cached_tokens,
        "tokens": generation.tokens,
        "text": generation.text,
        "finish_reason": generation.finish_reason.name(),
        "seed": options.sampling.seed,
        "timings": {
            "load_ms": ms(measured.load_time),
            "prompt_ms": ms(generation.prompt_time),
            "prompt_tokens_per_s": rate(prompt.len() - generation.cached_tokens, generation.prompt_time),
            "first_token_ms": generation.first_token_at.map(|at| ms(at - measured.started)),
            "decode_tokens_per_s": rate(generation.tokens.len().saturating_sub(1), generation.decode_time),
        },
        "memory": {
            "arena_bytes": memory.arena_bytes,
            "kv_bytes_committed": memory.kv_bytes_committed,
            "weights_bytes": session.model().weights_bytes(),
            "planned": plan_json(&plan),
            "measured": measured.memory,
        },
    });
    if options.logprobs.is_some() {
        out["logprobs"] = logprobs(session.model(), generation);
    }
    Ok(out)
}

/// A token's bytes may be a part of a character, so they are numbers and not text.
fn logprobs(model: &Model, generation: &Generation) -> Json {
    let one =
        |id: u32, logprob: f64| json!({"id": id, "logprob": logprob, "bytes": model.tokenizer().piece(id)});
    let token = |token: &TokenLogprobs| {
        let mut out = one(token.id, token.logprob);
        out["top"] = token.top.iter().map(|(id, logprob)| one(*id, *logprob)).collect();
        out
    };
    generation.logprobs.iter().map(token).collect()
}
