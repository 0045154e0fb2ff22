//! `minfer chat`.

mod answer;
mod command;
mod conversation;
mod files;
mod input;
mod prompt;
mod report;
mod saved;
mod settings;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Error, Result};
use minfer::{Engine, EngineOptions, FinishReason, GenerateOptions, Sampling, SessionOptions};

use self::answer::{Answer, answer};
use self::command::{Asked, HELP};
use self::conversation::{Conversation, Exchange};
use self::input::{Input, is_interactive};
use self::prompt::Prompts;
use self::report::{Last, Report, Total};
use self::settings::Settings;
use super::run::{fresh_seed, unix_now, without_last_newline};
use super::{chat_model, print_json, print_text, session_options_over, told_threads, write_graph};
use crate::args::{ChatArgs, MachineArgs};
use crate::interrupt::{self, Interrupt};
use crate::tell;

/// What can be done where the context is full.
const FULL: &str =
    "/undo takes back the last exchange, /reset all of them; -c N at the start makes more room";

/// With fewer positions there is no conversation: `--fit` goes no lower.
const CONTEXT_MIN: usize = 512;

pub fn run(args: ChatArgs, machine: &MachineArgs) -> Result<ExitCode> {
    let sampling = args.answer.sampling.settings(0);
    let first = args.file.as_deref().map(read_message).transpose()?;
    let model = chat_model(&args.model, &args.engine.load, args.answer.chat_template.as_deref())?;
    let arch = model.config().arch;
    if arch.encoder {
        return Err(minfer::Error::Encoder { arch: arch.name }.into());
    }
    let conversation =
        Conversation { system: args.system.filter(|text| !text.is_empty()), ..Conversation::default() };
    let began = unix_now();
    let mut prompts = Prompts::new(began);
    // A template that is missing or cannot be used is told before anything is computed.
    prompts.tokens(&model, &conversation, Some("Hello")).context(
        "minfer chat needs a chat template that it can use (--chat-template gives another; minfer run takes raw prompts)",
    )?;
    let sequences = SessionOptions { n_seq: 1, n_kept: 1, ..SessionOptions::default() };
    let session = session_options_over(sequences, &model, &args.engine, machine, CONTEXT_MIN)?;
    write_graph(&model, &args.engine, &session)?;
    let dry_sequence_breakers = model.sequence_breakers(&args.answer.sampling.breakers())?;
    let threads = Some(told_threads(machine));
    let engine = Engine::new(model, &EngineOptions { session, chunk: session.n_ubatch, queue: 1, threads })?;
    let settings = Settings {
        sampling: Sampling { dry_sequence_breakers, ..sampling },
        seed: u64::try_from(args.answer.sampling.seed).ok(),
        n_predict: args.answer.n_predict(),
    };
    let interrupt = Interrupt::catch()?;
    let mut chat = Chat {
        engine,
        conversation,
        settings,
        prompts,
        began,
        stop: args.answer.stop,
        ignore_eos: args.answer.sampling.ignore_eos,
        interrupt,
        last: None,
        total: Total::default(),
        interactive: is_interactive(),
        json: args.engine.json,
    };
    let mut input = Input::open(args.history_file)?;
    let code = chat.converse(first, &mut input)?;
    input.close()?;
    Ok(code)
}

/// A conversation with a model.
struct Chat {
    engine: Engine,
    conversation: Conversation,
    settings: Settings,
    prompts: Prompts,
    /// When the conversation began, in seconds after 1970: templates may say the date.
    began: i64,
    stop: Vec<String>,
    ignore_eos: bool,
    interrupt: Interrupt,
    last: Option<Last>,
    total: Total,
    /// A person types and reads.
    interactive: bool,
    json: bool,
}

/// What came of a line.
enum Outcome {
    Done,
    /// It could not be done, and nothing has changed.
    Refused(Error),
    /// Ctrl-C ended the answer.
    Interrupted,
    Exit,
}

impl Chat {
    /// Until the end of the input. Without a person, Ctrl-C ends all, and a line that was refused makes the code 1.
    fn converse(&mut self, first: Option<String>, input: &mut Input) -> Result<ExitCode> {
        let name = self.engine.model().name();
        self.note(&format!("{name}, context of {} tokens; /help tells the commands", self.engine.n_ctx()));
        self.let_interrupt();
        let mut outcome = match first {
            Some(message) => self.say(message)?,
            None => Outcome::Done,
        };
        let mut refused = false;
        loop {
            match outcome {
                Outcome::Done => {}
                Outcome::Refused(error) => {
                    tell(&format!("error: {error:#}"));
                    refused = !self.interactive;
                }
                Outcome::Interrupted if self.interactive => {}
                Outcome::Interrupted => return Ok(ExitCode::from(interrupt::EXIT_CODE)),
                Outcome::Exit => break,
            }
            let Some(line) = input.next()? else { break };
            outcome = self.obey(&line)?;
        }
        Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Does what a line asks for. An error is one that ends the conversation.
    fn obey(&mut self, line: &str) -> Result<Outcome> {
        let asked = match command::read(line) {
            Ok(asked) => asked,
            Err(error) => return Ok(Outcome::Refused(error.into())),
        };
        match asked {
            Asked::Nothing => {}
            Asked::Message(text) => return self.say(text),
            Asked::Help => self.show(HELP)?,
            Asked::System(None) => {
                let text = self.conversation.system.as_deref().unwrap_or("there is no system message");
                self.show(&format!("{text}\n"))?;
            }
            Asked::System(Some(text)) => {
                self.conversation.system = Some(text).filter(|text| !text.is_empty());
                self.note("the system message holds from the next answer on");
            }
            Asked::Reset => {
                self.conversation.reset();
                self.note("all that was said is forgotten");
            }
            Asked::Undo => match self.conversation.undo() {
                Some(Exchange { user, .. }) => self.note(&format!("taken back with its answer: {user}")),
                None => return Ok(refused("there is nothing to take back")),
            },
            Asked::Regen => return self.regenerate(),
            Asked::Save(path) => {
                if let Err(error) = self.save(&path) {
                    return Ok(Outcome::Refused(error));
                }
            }
            Asked::Load(path) => {
                if let Err(error) = self.load(&path) {
                    return Ok(Outcome::Refused(error));
                }
            }
            Asked::Set(None) => self.show(&self.settings.shown())?,
            Asked::Set(Some((name, value))) => {
                if let Err(error) = self.settings.set(&name, &value) {
                    return Ok(Outcome::Refused(error.into()));
                }
            }
            Asked::Stats => self.tell_stats()?,
            Asked::Exit => return Ok(Outcome::Exit),
        }
        Ok(Outcome::Done)
    }

    /// A message goes to the model; it and the answer become part of the conversation, or neither does.
    fn say(&mut self, user: String) -> Result<Outcome> {
        let prompt = match self.prompts.tokens(self.engine.model(), &self.conversation, Some(&user)) {
            Ok(prompt) => prompt,
            Err(error) => return Ok(Outcome::Refused(error.into())),
        };
        let options = GenerateOptions {
            n_predict: self.settings.n_predict,
            sampling: Sampling {
                seed: self.settings.seed.unwrap_or_else(fresh_seed),
                ..self.settings.sampling.clone()
            },
            stop: self.stop.clone(),
            ignore_eos: self.ignore_eos,
            ..GenerateOptions::default()
        };
        self.interrupt.begin();
        let answered = answer(&self.engine, prompt, options, &self.interrupt, self.json);
        self.let_interrupt();
        match answered? {
            Ok(answer) => self.keep(user, answer),
            Err(error @ minfer::Error::PromptTooLong { .. }) => {
                Ok(Outcome::Refused(Error::new(error).context(format!("the message does not fit: {FULL}"))))
            }
            Err(error) => Ok(Outcome::Refused(error.into())),
        }
    }

    /// An answer is complete, or was ended.
    fn keep(&mut self, user: String, answer: Answer) -> Result<Outcome> {
        let cancelled = answer.reason == FinishReason::Cancelled;
        if cancelled && answer.tokens.is_empty() {
            self.note("stopped before the answer began: the message is taken back");
            return Ok(Outcome::Interrupted);
        }
        self.last = Some(Last::from(&answer));
        self.total.add(&answer.usage);
        let reason = answer.reason;
        let reply = prompt::reply(self.engine.model().tokenizer(), answer.text, answer.tokens);
        let text = self.json.then(|| reply.text.clone());
        self.conversation.exchanges.push(Exchange { user, reply });
        let report = self.report();
        match text {
            Some(text) => print_json(&report.to_json(Some(&text)))?,
            None => print_text("\n")?,
        }
        if cancelled {
            self.note(
                "the answer was stopped: what there is of it stays in the conversation (/undo takes it back)",
            );
        }
        if reason == FinishReason::Context {
            let n_ctx = self.engine.n_ctx();
            tell(&format!("note: the answer ends here: the context of {n_ctx} positions is full. {FULL}"));
        }
        if self.interactive {
            report.tell(std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()));
        }
        Ok(if cancelled { Outcome::Interrupted } else { Outcome::Done })
    }

    /// Answers the last message again. Without a new answer, the old one stays.
    fn regenerate(&mut self) -> Result<Outcome> {
        let Some(old) = self.conversation.undo() else {
            return Ok(refused("there is nothing to answer again"));
        };
        let before = self.conversation.exchanges.len();
        let outcome = self.say(old.user.clone())?;
        if self.conversation.exchanges.len() == before {
            self.conversation.exchanges.push(old);
        }
        Ok(outcome)
    }

    /// The tokens of what was said, if anything was and the template writes a conversation that ends with an answer.
    fn tokens_so_far(&mut self) -> Option<Vec<u32>> {
        if self.conversation.exchanges.is_empty() {
            return None;
        }
        self.prompts.tokens(self.engine.model(), &self.conversation, None).ok()
    }

    /// For programs as JSON, for people in words.
    fn tell_stats(&mut self) -> Result<()> {
        let report = self.report();
        match self.interactive && !self.json {
            true => print_text(&report.shown()),
            false => print_json(&report.stats_json()),
        }
    }

    /// With a template that writes no conversation that ends with an answer, what the last answer took is told.
    fn report(&mut self) -> Report {
        let taken = self.last.map_or(0, |Last { usage, .. }| usage.prompt_tokens + usage.completion_tokens);
        let used = match self.conversation.exchanges.is_empty() {
            true => 0,
            false => self.tokens_so_far().map_or(taken, |tokens| tokens.len()),
        };
        Report { used, n_ctx: self.engine.n_ctx(), last: self.last, total: self.total }
    }

    /// What was asked for; beside JSON it is no part of the output.
    fn show(&self, text: &str) -> Result<()> {
        if self.json {
            tell(text.trim_end());
            return Ok(());
        }
        print_text(text)
    }

    /// Between answers Ctrl-C ends a script. A person may have meant the answer that was just complete.
    fn let_interrupt(&self) {
        if !self.interactive {
            self.interrupt.end();
        }
    }

    /// Something that only people want to know.
    fn note(&self, text: &str) {
        if self.interactive {
            tell(text);
        }
    }
}

fn refused(why: &'static str) -> Outcome {
    Outcome::Refused(Error::msg(why))
}

/// The first message.
fn read_message(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(without_last_newline(text))
}
