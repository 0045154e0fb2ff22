//! SmolLM2, its qwen2 twin and Gemma 3, answered by an independent engine.
//!
//! `MINFER_TEST_MODELS` names the folder that holds the models, `MINFER_TEST_TEXT` a text whose
//! perplexity is known; what is not named is skipped, visibly.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use gguf::GgufFile;
use minfer::{Fused, Model, SessionOptions};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::common::{answer, rounding, session};
use crate::stored::{Distance, Prompt, beside, mean, worst};

const SMOLLM2: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const GEMMA3: &str = "gemma-3-270m-q4_k_m.gguf";

/// What the other engine said of a model.
#[derive(Deserialize)]
struct Reference {
    sha256: String,
    prompts: Vec<Prompt>,
}

/// SmolLM2 135M Q4_1, if this machine has it.
pub fn smollm2() -> Option<GgufFile> {
    open(SMOLLM2)
}

/// Gemma 3 270M Q4_K_M, if this machine has it.
pub fn gemma3() -> Option<GgufFile> {
    open(GEMMA3)
}

fn open(name: &str) -> Option<GgufFile> {
    let path = PathBuf::from(setting("MINFER_TEST_MODELS")?).join(name);
    match path.is_file() {
        true => Some(GgufFile::open(path).unwrap()),
        false => {
            skipped(&format!("there is no {}", path.display()));
            None
        }
    }
}

/// The value of an environment variable, or word that it is not there.
pub fn setting(variable: &str) -> Option<std::ffi::OsString> {
    let value = std::env::var_os(variable);
    if value.is_none() {
        skipped(&format!("{variable} is not set"));
    }
    value
}

/// Told past the test harness, which hides what passing tests print.
fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

fn llama() -> Option<(GgufFile, Reference)> {
    let reference = serde_json::from_str(include_str!("../data/smollm2-135m.json")).unwrap();
    Some((smollm2()?, reference))
}

fn twin() -> Option<(GgufFile, Reference)> {
    let reference: Reference =
        serde_json::from_str(include_str!("../data/smollm2-135m-as-qwen2.json")).unwrap();
    let bytes = synthetic::llama_to_qwen2(&smollm2()?).unwrap();
    let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, reference.sha256);
    Some((GgufFile::from_bytes(&bytes).unwrap(), reference))
}

fn gemma() -> Option<(GgufFile, Reference)> {
    let reference = serde_json::from_str(include_str!("../data/gemma3-270m.json")).unwrap();
    Some((gemma3()?, reference))
}

/// Every prompt answered, with the tokenizer's word on its text.
fn distances(
    file: GgufFile,
    prompts: &[Prompt],
    reference: bool,
    mut each: impl FnMut(&Prompt, &crate::common::Answer),
) -> Vec<Distance> {
    let model = Arc::new(Model::from_file(file).unwrap());
    let options = SessionOptions { n_ctx: 1024, reference, ..SessionOptions::default() };
    let mut session = session(&model, &options);
    let answered = prompts.iter().map(|prompt| {
        assert_eq!(model.tokenize(&prompt.prompt, true).unwrap(), prompt.tokens, "{}", prompt.prompt);
        let answer = answer(&mut session, &prompt.tokens, prompt.exact.greedy.len());
        each(prompt, &answer);
        Distance::new(&answer, prompt)
    });
    answered.collect()
}

fn check_reference_run((file, reference): (GgufFile, Reference)) {
    let distances = distances(file, &reference.prompts, true, |_, _| {});
    let all: Vec<f32> = distances.iter().flat_map(|d| d.logits.clone()).collect();
    let nll = distances.iter().map(|d| d.nll_relative).fold(0.0, f64::max);
    println!(
        "reference run: worst {:.5}, mean {:.5}, worst nll {:.5} %",
        worst(&all),
        mean(&all),
        nll * 100.0
    );
    for (distance, prompt) in distances.iter().zip(&reference.prompts) {
        let what = &prompt.prompt;
        assert!(distance.worst() <= 0.02, "{what}: a logit is {} off", distance.worst());
        assert!(distance.nll_relative <= 0.001, "{what}: the nll is {} off", distance.nll_relative);
        assert!(distance.margin < 0.02, "{what}: greedy text departs at a margin of {}", distance.margin);
    }
}

/// The other engine's own worst is 0.34 over these prompts. How near the largest of sixty errors comes to that is
/// partly chance: another order of two multiplications moves it between 0.23 and 0.36.
const CENTRED_MAX: f32 = 0.35;

fn check_quantized_run((file, reference): (GgufFile, Reference)) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let distances = distances(file, &reference.prompts, false, |prompt, answer| {
        let default = prompt.default.as_ref().expect("every mode was stored");
        let (our, their) = beside(answer, &prompt.exact, default);
        ours.extend(our);
        theirs.extend(their);
    });
    let all: Vec<f32> = distances.iter().flat_map(|d| d.logits.clone()).collect();
    let nll = distances.iter().map(|d| d.nll_a_token).sum::<f64>() / distances.len() as f64;
    println!("quantized run: worst {:.4}, mean {:.4}, nll {nll:+.5} a token", worst(&all), mean(&all));
    let (our, their) = (mean(&ours), mean(&theirs));
    println!("over {} ids that both have: mean {our:.4}, the other engine {their:.4}", ours.len());
    for (distance, prompt) in distances.iter().zip(&reference.prompts) {
        println!(
            "{} tokens: worst {:.4}, centred {:.4}, nll {:+.5} a token, margin {}",
            prompt.tokens.len(),
            distance.worst(),
            distance.worst_centred(),
            distance.nll_a_token,
            distance.margin
        );
    }
    for (distance, prompt) in distances.iter().zip(&reference.prompts) {
        let what = &prompt.prompt;
        let (worst, centred) = (distance.worst(), distance.worst_centred());
        assert!(worst <= 0.6, "{what}: a logit is {worst} off");
        assert!(centred <= CENTRED_MAX, "{what}: a logit is {centred} off after taking off the mean");
        assert!(distance.nll_a_token.abs() <= 0.07, "{what}: the nll is {} off", distance.nll_a_token);
        assert!(distance.margin < 0.3, "{what}: greedy text departs at a margin of {}", distance.margin);
    }
    assert!(nll.abs() <= 0.02, "the nll is {nll} a token off on average");
}

/// Mean absolute difference of the ten best logits over every position of the five short prompts, of a
/// separate program that rounds activations to 8 bits in blocks of 32. The sixty logits after the six prompts
/// are printed above and compared with nothing: they are too few. Ours are 0.174 off there on average, the
/// other engine's 0.146; over all positions ours are 0.159 off.
const ROUNDING: f32 = 0.1767;

#[test]
fn rounding_of_activations_costs_what_it_costs_elsewhere() {
    let Some((file, reference)) = llama() else { return };
    let model = Arc::new(Model::from_file(file).unwrap());
    let mut sessions = [false, true].map(|reference| {
        session(&model, &SessionOptions { n_ctx: 64, reference, ..SessionOptions::default() })
    });
    let short = reference.prompts.iter().filter(|prompt| prompt.tokens.len() < 64);
    let differences: Vec<f32> = short.flat_map(|prompt| rounding(&mut sessions, &prompt.tokens)).collect();
    assert_eq!(differences.len(), 1030);
    let ours = mean(&differences);
    println!("mean over all positions {ours:.4}, elsewhere {ROUNDING}");
    assert!(ours <= 1.1 * ROUNDING, "mean {ours}, elsewhere {ROUNDING}");
}

#[test]
fn reference_run_of_smollm2_agrees_with_an_independent_engine() {
    llama().into_iter().for_each(check_reference_run);
}

#[test]
fn reference_run_of_the_twin_agrees_with_an_independent_engine() {
    twin().into_iter().for_each(check_reference_run);
}

#[test]
fn quantized_run_of_smollm2_is_near_the_exact_answers() {
    llama().into_iter().for_each(check_quantized_run);
}

#[test]
fn quantized_run_of_the_twin_is_near_the_exact_answers() {
    twin().into_iter().for_each(check_quantized_run);
}

#[test]
fn reference_run_of_gemma3_agrees_with_an_independent_engine() {
    gemma().into_iter().for_each(check_reference_run);
}

#[test]
fn quantized_run_of_gemma3_is_near_the_exact_answers() {
    gemma().into_iter().for_each(check_quantized_run);
}

#[test]
fn arenas_of_real_models_are_at_the_lower_bound() {
    for file in [smollm2(), gemma3()].into_iter().flatten() {
        let model = Arc::new(Model::from_file(file).unwrap());
        for (n_ubatch, fusions) in [(1, Fused::ALL), (64, Fused::NONE), (512, Fused::ALL), (512, Fused::NONE)]
        {
            let options = SessionOptions { n_ctx: 1024, n_ubatch, fusions, ..SessionOptions::default() };
            let memory = session(&model, &options).memory();
            let what = format!("{} in batches of {n_ubatch}, {fusions:?}", model.config().arch.name);
            assert_eq!(memory.arena_bytes, memory.arena_bytes_lower_bound, "{what}");
        }
    }
}

fn check_tokens(file: GgufFile, cases: &str) {
    #[derive(Deserialize)]
    struct Case {
        string: String,
        with_special: Vec<u32>,
        without_special: Vec<u32>,
    }
    let model = Model::from_file(file).unwrap();
    let cases: Vec<Case> = serde_json::from_str(cases).unwrap();
    for case in &cases {
        for (special, expected) in [(true, &case.with_special), (false, &case.without_special)] {
            let found = model.tokenize(&case.string, special).unwrap();
            assert_eq!(&found, expected, "{:?} with special {special}", case.string);
        }
    }
}

#[test]
fn texts_have_the_tokens_of_an_independent_engine_in_smollm2() {
    let Some(file) = smollm2() else { return };
    check_tokens(file, include_str!("../data/tokenize-smollm2.json"));
}

#[test]
fn texts_have_the_tokens_of_an_independent_engine_in_gemma3() {
    let Some(file) = gemma3() else { return };
    check_tokens(file, include_str!("../data/tokenize-gemma3.json"));
}
