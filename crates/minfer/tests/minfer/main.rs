//! The library as its users see it: right numbers, the same answer every time, clear refusals.
//!
//! All models are made here, from seeds. Tests of a real model run where the environment variable
//! `MINFER_TEST_MODELS` names a folder that holds its file, and say that they were skipped elsewhere.

mod bad_files;
mod cache_types;
mod chat;
mod common;
mod constrained;
mod embed;
mod engine;
mod generate;
mod load;
mod logprobs;
mod perplexity;
mod plan;
mod plan_cases;
mod readme;
mod real;
mod same_answer;
mod sampling;
mod saved;
mod stops;
mod stored;
mod synthetic;
mod twin;
mod verify;
