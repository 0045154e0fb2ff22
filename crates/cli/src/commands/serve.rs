//! `minfer serve`.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use minfer::{EmbedOptions, Embedder, Engine, EngineOptions, MemoryLimit, Model, SessionOptions, ThreadPool};
use serde_json::json;
use server::{Server, ServerOptions, Stop};

use super::{
    JSON_VERSION, chat_model, print_json, print_text, session_options_over, tell_more_than_machine,
    told_threads, write_graph,
};
use crate::args::{MachineArgs, ServeArgs};
use crate::{interrupt, models, tell};

pub fn run(args: ServeArgs, machine: &MachineArgs) -> Result<()> {
    let seed = u64::try_from(args.sampling.seed).ok();
    let mut sampling = args.sampling.settings(seed.unwrap_or_default());
    let api_keys = api_keys(args.api_key_file.as_deref())?;
    let place = (args.host.as_str(), args.port);
    let listener =
        TcpListener::bind(place).with_context(|| format!("cannot listen at {}:{}", place.0, place.1))?;
    let address = listener.local_addr().context("cannot tell the address")?;
    let model = chat_model(&args.model, &args.engine.load, args.chat_template.as_deref())?;
    sampling.dry_sequence_breakers = model.sequence_breakers(&args.sampling.breakers())?;
    let plain =
        SessionOptions { n_seq: args.parallel, n_kept: args.keep_contexts, ..SessionOptions::default() };
    let mut session = session_options_over(plain, &model, &args.engine, machine, 0)?;
    let names = names(&args, &model)?;
    let is_encoder = model.config().arch.encoder;
    if args.pooling.is_some() && !args.embeddings && !is_encoder {
        bail!("--pooling: there are no embeddings without --embeddings");
    }
    let embed = (args.embeddings || is_encoder).then(|| EmbedOptions {
        pooling: args.pooling,
        session: SessionOptions { n_kept: 0, ..session },
        ..EmbedOptions::default()
    });
    let graph =
        if let Some(embed) = embed.filter(|_| is_encoder) { embed.session_options(&model)? } else { session };
    write_graph(&model, &args.engine, &graph)?;
    let threads = told_threads(machine);
    let embedder = embed.map(|embed| embedder(&model, &embed, &mut session, threads)).transpose()?;
    let options = ServerOptions {
        names,
        api_keys,
        rate_limit: args.rate_limit,
        sampling,
        ignore_eos: args.sampling.ignore_eos,
        seed,
        cors_origins: args.cors_origin.clone(),
        time: args.timeout,
        parallel: args.parallel,
        ..ServerOptions::default()
    };
    let name = options.names[0].clone();
    let server = if is_encoder {
        let embedder = embedder.expect("encoders have one");
        Server::with_embeddings_alone(embedder, args.queue, options)?
    } else {
        let engine = EngineOptions { session, chunk: args.chunk, queue: args.queue, threads: Some(threads) };
        let engine = Engine::new(model, &engine)?;
        tell_more_than_machine(engine.stats().kv_bytes_reserved);
        let server = Server::new(engine, options);
        match embedder {
            Some(embedder) => server.with_embeddings(embedder, args.queue)?,
            None => server,
        }
    };
    let (server, n_ctx) = (Arc::new(server), session.n_ctx);

    let stop = Stop::default();
    let told = stop.clone();
    interrupt::on_first(move || {
        tell("note: finishing the requests that run; Ctrl-C or SIGTERM again ends them");
        told.stop();
    })?;
    if args.engine.json {
        let url = format!("http://{address}");
        let what = json!({"version": JSON_VERSION, "url": url, "model": name, "parallel": args.parallel, "n_ctx": n_ctx});
        print_json(&what)?;
    } else {
        let parallel = args.parallel;
        print_text(&format!(
            "{name} answers at http://{address}/v1, and in a browser at http://{address}/: {parallel} requests side by side, a context of {n_ctx} positions each\n"
        ))?;
    }
    server::serve(listener, server, &stop).context("the server ended")
}

/// What makes embeddings. The session of the engine may take so much less.
fn embedder(
    model: &Arc<Model>,
    options: &EmbedOptions,
    session: &mut SessionOptions,
    threads: usize,
) -> Result<Embedder> {
    if let Some(limit) = &mut session.memory {
        let plan = model.plan(&options.session_options(model)?, threads, None)?;
        // What is copied of the file is there once, whoever computes with it.
        let own = plan.total() - if options.session.reference { 0 } else { plan.weights_copied };
        *limit = MemoryLimit { bytes: limit.bytes.saturating_sub(own), ..*limit };
    }
    Ok(Embedder::new(model.clone(), Arc::new(ThreadPool::new(threads)), options)?)
}

/// The aliases, the file's name with and without its ending, and the model's own; the first is that of the answers.
fn names(args: &ServeArgs, model: &Model) -> Result<Vec<String>> {
    let path = models::resolve(&args.model)?;
    let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let mut names = args.alias.clone();
    let others =
        [text(path.file_stem()), text(path.file_name()), Some(args.model.clone()), Some(model.name())];
    for name in others.into_iter().flatten() {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// From the file and from the environment.
fn api_keys(path: Option<&Path>) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    if let Some(path) = path {
        let place = || format!("--api-key-file {}", path.display());
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read it", place()))?;
        keys.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        if keys.is_empty() {
            bail!("{}: there is no key in it", place());
        }
    }
    keys.extend(std::env::var("MINFER_API_KEY").ok().filter(|key| !key.is_empty()));
    Ok(keys)
}
