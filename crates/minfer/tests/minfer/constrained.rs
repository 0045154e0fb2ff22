//! Answers that obey: schemas, expressions, grammars, whatever the model would rather say.

use std::ops::ControlFlow;
use std::sync::Arc;

use minfer::{
    ConstrainError, Constraint, Error, FinishReason, GenerateOptions, Generation, Model, Sampling, Session,
    SessionOptions, Vocabulary,
};
use serde_json::{Value as Json, json};

use crate::common::{model, session, tokens};

/// Answers a schema.
const ANSWERS: u64 = 50;

/// Tokens of an answer.
const TOKENS: usize = 120;

fn with_context(n_ctx: usize) -> SessionOptions {
    SessionOptions { n_ctx, ..SessionOptions::default() }
}

fn generate(session: &mut Session, options: &GenerateOptions) -> Generation {
    session.generate(&tokens(5, 1), options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Temperature 2, and a wish for texts, lists and objects to end, which a random model does not have.
fn wild(model: &Model, seed: u64, constraint: &Constraint) -> GenerateOptions {
    let tokenizer = model.tokenizer();
    let ends = ["\"", "}", "]"].map(|text| tokenizer.id_of_text(text).unwrap());
    let logit_bias = ends.iter().chain(tokenizer.eog()).map(|id| (*id, 12.0)).collect();
    let sampling = Sampling { temperature: 2.0, seed, logit_bias, ..Sampling::default() };
    let constraint = Some(constraint.clone());
    GenerateOptions { n_predict: Some(TOKENS), sampling, constraint, ..GenerateOptions::default() }
}

fn schemas() -> Vec<Json> {
    let object = |properties: Json| {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    vec![
        object(json!({"a": {"type": "integer"}})),
        object(json!({"a": {"type": "string"}})),
        object(json!({"b": {"type": "boolean"}, "a": {"type": "null"}})),
        object(json!({"a": {"enum": ["é", "\"", "\\u0061", 3, null]}})),
        object(json!({"a": {"const": {"b": [1, true]}}})),
        object(
            json!({"job": {"type": "object", "properties": {"tag": {"type": "string", "pattern": "^[b-y]*z$", "maxLength": 2000}}}}),
        ),
        json!({"$ref": "#/$defs/Color", "$defs": {"Color": {"enum": ["red", "gr\"een", 3, null]}}}),
        json!({"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": false}),
        json!({"anyOf": [object(json!({"aa": {"type": "integer"}})), object(json!({"ab": {"type": "integer"}}))]}),
        json!({"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "boolean"}}]}),
        json!({"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 40}]}),
        json!({"type": "object"}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]}),
        json!({"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 3}),
        json!({"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "integer"}], "items": false}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
        json!({"type": "string"}),
        json!({"type": "string", "minLength": 1, "maxLength": 4}),
        json!({"type": "string", "pattern": "\\S"}),
        json!({"type": "string", "pattern": "^a{2,5}\\d?$"}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "ipv4"}),
        json!({"type": "integer", "minimum": -5, "maximum": 1000}),
        json!({"type": "number", "exclusiveMinimum": -1.5, "maximum": 8}),
        json!({"type": "integer", "multipleOf": 3}),
        json!({"type": ["integer", "null", "boolean"]}),
        json!({"enum": [1, 2.5, [], {}, "a"]}),
    ]
}

#[test]
fn finished_answers_obey_their_schema_at_temperature_2() {
    let model = model("llama", "micro", "Q8_0");
    let mut session = session(&model, &with_context(128));
    let vocabulary = model.vocabulary().unwrap();
    let schemas = schemas();
    assert_eq!(schemas.len(), 30);
    for schema in schemas {
        let constraint =
            Constraint::json_schema(&vocabulary, &schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        let mut finished = 0;
        for seed in 0..ANSWERS {
            let answer = generate(&mut session, &wild(&model, seed, &constraint));
            match answer.finish_reason {
                FinishReason::Stop => {
                    let value: Json = serde_json::from_str(&answer.text)
                        .unwrap_or_else(|e| panic!("{schema}: {:?}: {e}", answer.text));
                    assert!(validator.is_valid(&value), "{schema}: {value}");
                    finished += 1;
                }
                FinishReason::Length => assert_eq!(answer.tokens.len(), TOKENS),
                other => panic!("{schema}: {other:?}"),
            }
        }
        assert!(finished >= 10, "{schema}: {finished} of {ANSWERS} answers came to an end");
    }
}

#[test]
fn an_answer_ends_where_nothing_can_follow_whatever_the_sampler() {
    let model = model("llama", "micro", "Q8_0");
    let mut session = session(&model, &with_context(128));
    let constraint = Constraint::regex(&model.vocabulary().unwrap(), "(yes|no)!").unwrap();
    let samplings = [
        Sampling::default(),
        Sampling { temperature: 0.0, repeat_penalty: 1.5, ..Sampling::default() },
        Sampling { temperature: 2.0, seed: 3, ..Sampling::default() },
        Sampling {
            temperature: 1.0,
            top_k: 3,
            top_p: 0.5,
            min_p: 0.1,
            typical_p: 0.9,
            seed: 4,
            ..Sampling::default()
        },
        Sampling {
            temperature: 1.0,
            dry_multiplier: 2.0,
            frequency_penalty: 1.0,
            xtc_probability: 0.5,
            ..Sampling::default()
        },
    ];
    for sampling in samplings {
        for ignore_eos in [false, true] {
            let options = GenerateOptions {
                n_predict: Some(20),
                sampling: sampling.clone(),
                ignore_eos,
                logprobs: Some(2),
                constraint: Some(constraint.clone()),
                ..GenerateOptions::default()
            };
            let answer = generate(&mut session, &options);
            assert!(["yes!", "no!"].contains(&answer.text.as_str()), "{:?}", answer.text);
            assert_eq!(answer.finish_reason, FinishReason::Stop);
            assert_eq!(answer.logprobs.len(), answer.tokens.len());
            // Probabilities are the model's own: what is likeliest may be what is not allowed.
            assert!(answer.logprobs.iter().all(|token| token.logprob.is_finite() && token.top.len() == 2));
        }
    }
}

#[test]
fn an_answer_that_is_cut_says_so_and_one_that_may_end_can() {
    let model = model("llama", "micro", "Q8_0");
    let mut session = session(&model, &with_context(128));
    let vocabulary = model.vocabulary().unwrap();
    let long = Constraint::regex(&vocabulary, "[ab]{30}").unwrap();
    let plain = |n, constraint: &Constraint| GenerateOptions {
        n_predict: Some(n),
        constraint: Some(constraint.clone()),
        ..GenerateOptions::default()
    };
    let cut = generate(&mut session, &plain(10, &long));
    assert_eq!((cut.finish_reason, cut.tokens.len()), (FinishReason::Length, 10));
    let whole = generate(&mut session, &plain(40, &long));
    assert_eq!((whole.finish_reason, whole.text.len()), (FinishReason::Stop, 30));
    assert!(whole.text.starts_with(&cut.text));

    let open = Constraint::regex(&vocabulary, "a+").unwrap();
    let ends = (0..50).map(|seed| generate(&mut session, &wild(&model, seed, &open)));
    for answer in ends {
        assert!(answer.text.bytes().all(|byte| byte == b'a') && !answer.text.is_empty(), "{:?}", answer.text);
        let ended = model.tokenizer().is_eog(*answer.tokens.last().unwrap());
        assert_eq!(ended, answer.finish_reason == FinishReason::Stop);
    }
    let nothing = generate(&mut session, &plain(10, &Constraint::regex(&vocabulary, "").unwrap()));
    assert_eq!((nothing.finish_reason, nothing.text.as_str()), (FinishReason::Stop, ""));
}

#[test]
fn grammars_hold_and_stop_texts_still_end_an_answer() {
    let model = model("qwen2", "micro", "F32");
    let mut session = session(&model, &with_context(128));
    let grammar = "start: (\"ab\" | \"cd\")+ \";\"\n";
    let constraint = Constraint::lark(&model.vocabulary().unwrap(), grammar).unwrap();
    for seed in 0..10 {
        let mut options = wild(&model, seed, &constraint);
        options.sampling.logit_bias.clear();
        options.stop = vec!["d".to_owned()];
        let answer = generate(&mut session, &options);
        let body = answer.text.trim_end_matches(';').trim_end_matches('c');
        assert!(
            body.len().is_multiple_of(2) && body.as_bytes().chunks(2).all(|pair| pair == b"ab"),
            "{:?}",
            answer.text
        );
    }
}

#[test]
fn constraints_are_for_one_vocabulary_and_failures_name_the_token() {
    let model = model("llama", "micro", "Q8_0");
    let mut session = session(&model, &with_context(128));
    let mut refusal = |vocabulary: &Arc<Vocabulary>, regex: &str| {
        let constraint = Some(Constraint::regex(vocabulary, regex).unwrap());
        let options = GenerateOptions { constraint, ..GenerateOptions::default() };
        session.generate(&tokens(5, 1), &options, &mut |_| ControlFlow::Continue(())).unwrap_err()
    };
    let other = Arc::new(Vocabulary::new([Some(&b"a"[..])], &[]).unwrap());
    assert!(matches!(refusal(&other, "a"), Error::OtherVocabulary { found: 1, expected: 320 }));
    // The same tokens, of which one is missing.
    let tokenizer = model.tokenizer();
    let pieces = (0..320)
        .map(|id| Some(tokenizer.piece(id)).filter(|piece| *piece != b"b" && !tokenizer.is_control(id)));
    let pieces = pieces.map(|piece| piece.filter(|piece| !piece.contains(&b'b')));
    let lacking = Arc::new(Vocabulary::new(pieces, tokenizer.eog()).unwrap());
    let error = refusal(&lacking, "aab");
    assert!(matches!(error, Error::Constrain { position: 2, error: ConstrainError::DeadEnd(_) }), "{error}");
    assert!(matches!(refusal(&lacking, "b"), Error::Constrain { position: 0, .. }));
}

#[test]
fn a_model_has_one_vocabulary_without_control_tokens() {
    let model = model("llama", "micro", "Q8_0");
    let vocabulary = model.vocabulary().unwrap();
    assert!(Arc::ptr_eq(&vocabulary, &model.vocabulary().unwrap()));
    let tokenizer = model.tokenizer();
    assert_eq!(vocabulary.ends(), tokenizer.eog());
    for id in 0..tokenizer.n_vocab() as u32 {
        assert!(
            !(vocabulary.is_text(id) && (tokenizer.is_control(id) || tokenizer.is_eog(id))),
            "token {id}"
        );
    }
}
