//! `minfer serve`.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use minfer::{Engine, EngineOptions, Model, SessionOptions};
use serde_json::json;
use server::{Server, ServerOptions, Stop};

use super::{
    JSON_VERSION, chat_model, print_json, print_text, session_options_over, told_threads, write_graph,
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
    let session = session_options_over(plain, &model, &args.engine, machine, 0)?;
    write_graph(&model, &args.engine, &session)?;
    let names = names(&args, &model)?;
    let threads = Some(told_threads(machine));
    let options = EngineOptions { session, chunk: args.chunk, queue: args.queue, threads };
    let engine = Engine::new(model, &options)?;
    let n_ctx = engine.n_ctx();
    let options = ServerOptions {
        names,
        api_keys,
        sampling,
        ignore_eos: args.sampling.ignore_eos,
        seed,
        parallel: args.parallel,
        ..ServerOptions::default()
    };
    let name = options.names[0].clone();
    let server = Arc::new(Server::new(engine, options));

    let stop = Stop::default();
    let told = stop.clone();
    interrupt::on_first(move || {
        tell("note: finishing the requests that run; Ctrl-C again ends them");
        told.stop();
    })?;
    if args.engine.json {
        let url = format!("http://{address}");
        let what = json!({"version": JSON_VERSION, "url": url, "model": name, "parallel": args.parallel, "n_ctx": n_ctx});
        print_json(&what)?;
    } else {
        let parallel = args.parallel;
        print_text(&format!(
            "{name} answers at http://{address}/v1: {parallel} requests side by side, a context of {n_ctx} positions each\n"
        ))?;
    }
    server::serve(listener, server, &stop).context("the server ended")
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
