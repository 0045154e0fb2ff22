//! Random models of every architecture, answered by an independent engine.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use minfer::{DType, Model, SessionOptions};
use models::ARCHITECTURES;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::common::{answer, rounding, session};
use crate::stored::{Distance, Prompt, beside, mean, worst};

#[derive(Deserialize)]
struct File {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    arch: String,
    preset: String,
    quant: String,
    sha256: String,
    /// What rounding activations to 8 bits costs, as a separate program in f64 says, where it was asked.
    rounding: Option<f32>,
    prompts: Vec<Prompt>,
}

impl Entry {
    fn name(&self) -> String {
        format!("{} {} {}", self.arch, self.preset, self.quant)
    }

    /// The model, made again and compared with the file that the answers are of.
    fn model(&self) -> Arc<Model> {
        let bytes = synthetic::build(&self.arch, &self.preset, &self.quant, 1, None).unwrap();
        let mut hex = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(hex, "{byte:02x}").unwrap();
        }
        assert_eq!(hex, self.sha256, "{}", self.name());
        Arc::new(Model::from_file(gguf::GgufFile::from_bytes(&bytes).unwrap()).unwrap())
    }
}

fn entries() -> Vec<Entry> {
    let file: File = serde_json::from_str(include_str!("../data/synthetic.json")).unwrap();
    file.models
}

fn quantized() -> Vec<Entry> {
    entries().into_iter().filter(|entry| entry.quant != "F32").collect()
}

/// The context of the stored answers, which decides between short and long factors of the rotation.
fn options() -> SessionOptions {
    SessionOptions { n_ctx: 1024, ..SessionOptions::default() }
}

fn check_exact(entry: &Entry, options: &SessionOptions) {
    let mut session = session(&entry.model(), options);
    let (mut all, mut nll) = (Vec::new(), 0f64);
    for prompt in &entry.prompts {
        let answer = answer(&mut session, &prompt.tokens, prompt.exact.greedy.len());
        let distance = Distance::new(&answer, prompt);
        let what = format!("{}, prompt of {}", entry.name(), prompt.tokens.len());
        assert!(distance.worst() <= 0.005, "{what}: a logit is {} off", distance.worst());
        assert!(distance.nll_relative <= 0.0005, "{what}: the nll is {} off", distance.nll_relative);
        assert!(distance.margin < 0.01, "{what}: greedy text departs at a margin of {}", distance.margin);
        nll = nll.max(distance.nll_relative);
        all.extend(distance.logits);
    }
    println!(
        "{}, reference {}: worst {:.5}, mean {:.5}, nll {:.5} %",
        entry.name(),
        options.reference,
        worst(&all),
        mean(&all),
        nll * 100.0
    );
}

#[test]
fn every_architecture_that_generates_was_answered() {
    let answered: BTreeSet<String> = entries().into_iter().map(|entry| entry.arch).collect();
    let generates = ARCHITECTURES.iter().filter(|arch| !arch.encoder);
    let known: BTreeSet<String> = generates.map(|arch| arch.name.to_owned()).collect();
    assert_eq!(answered, known);
}

#[test]
fn f32_models_agree_with_an_independent_engine() {
    for entry in entries().iter().filter(|entry| entry.quant == "F32") {
        check_exact(entry, &SessionOptions { type_k: DType::F32, type_v: DType::F32, ..options() });
    }
}

#[test]
fn reference_runs_agree_with_an_independent_engine() {
    for entry in entries() {
        check_exact(&entry, &SessionOptions { reference: true, ..options() });
    }
}

/// How far a quantized run may be from the exact answers.
struct Allowed {
    /// Any logit of any prompt.
    logit: f32,
    /// The median over the prompts of the worst logit.
    median: f32,
    /// The likelihood of a token, by the length of the prompt.
    nll: fn(usize) -> f64,
}

/// The other engine's own worst is 0.36, and 0.0205 a token. Where two experts are nearly as good, rounding chooses
/// between them, and an answer through another expert is another answer: then a prompt may differ more, and
/// what its tokens are worth says nothing.
fn allowed(arch: &str) -> Allowed {
    let usual = Allowed { logit: 0.4, median: 0.4, nll: |_| 0.03 };
    match arch {
        "gemma2" | "phi3" => Allowed { nll: |tokens| if tokens < 100 { 0.1 } else { 0.03 }, ..usual },
        "qwen3moe" => Allowed { logit: 1.0, nll: |_| f64::INFINITY, ..usual },
        _ => usual,
    }
}

#[test]
fn quantized_runs_stray_no_further_than_an_independent_engine() {
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for entry in quantized() {
        let mut session = session(&entry.model(), &options());
        let allowed = allowed(&entry.arch);
        let (mut ours, mut theirs, mut all) = (Vec::new(), Vec::new(), Vec::new());
        let (mut worsts, mut nlls) = (Vec::new(), Vec::new());
        for prompt in &entry.prompts {
            let answer = answer(&mut session, &prompt.tokens, 1);
            let distance = Distance::new(&answer, prompt);
            let what = format!("{}, prompt of {}", entry.name(), prompt.tokens.len());
            assert!(distance.worst() <= allowed.logit, "{what}: a logit is {} off", distance.worst());
            let nll = distance.nll_a_token;
            assert!(nll.abs() <= (allowed.nll)(prompt.tokens.len()), "{what}: the nll is {nll} a token off");
            let strict = prompt.strict.as_ref().expect("quantized models were run so");
            let (our, their) = beside(&answer, &prompt.exact, strict);
            ours.extend(our);
            theirs.extend(their);
            worsts.push(distance.worst());
            nlls.push(nll);
            all.extend(distance.logits);
        }
        worsts.sort_by(f32::total_cmp);
        let median = worsts[worsts.len() / 2];
        assert!(median <= allowed.median, "{}: the median of the worst logits is {median} off", entry.name());
        println!(
            "{}: worst {:.4}, mean {:.4}, nll {nlls:+.4?} a token; of {} ids that both have: mean {:.4}, the other engine {:.4}",
            entry.name(),
            worst(&all),
            mean(&all),
            ours.len(),
            mean(&ours),
            mean(&theirs),
        );
        all_ours.extend(ours);
        all_theirs.extend(theirs);
    }
    // One model's three prompts are too few to compare; over all models the means say something.
    let (ours, theirs) = (mean(&all_ours), mean(&all_theirs));
    println!("over {} ids of all models: mean {ours:.4}, the other engine {theirs:.4}", all_ours.len());
    assert!(ours <= 1.1 * theirs, "over all models: mean {ours}, the other engine {theirs}");
}

/// The last positions of three prompts are too few to compare means of rounding errors: the same program
/// with scales in f16 and in f32 gives 0.026 and 0.046 for one prompt. Over all positions it gives the same,
/// so there, and against our reference run, whose own distance is a thousandth of that, the means must agree.
#[test]
fn rounding_of_activations_costs_what_it_costs_elsewhere() {
    for entry in quantized() {
        let Some(theirs) = entry.rounding else { continue };
        let model = entry.model();
        let mut sessions =
            [false, true].map(|reference| session(&model, &SessionOptions { reference, ..options() }));
        let prompts = entry.prompts.iter();
        let differences: Vec<f32> =
            prompts.flat_map(|prompt| rounding(&mut sessions, &prompt.tokens)).collect();
        let ours = mean(&differences);
        println!("{}: mean over all positions {ours:.4}, elsewhere {theirs:.4}", entry.name());
        assert!(ours <= 1.1 * theirs, "{}: mean {ours}, elsewhere {theirs}", entry.name());
    }
}
