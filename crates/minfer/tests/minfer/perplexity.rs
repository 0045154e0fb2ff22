//! Perplexity of a real text, as an independent engine counts it.

use std::sync::Arc;
use std::time::Instant;

use gguf::GgufFile;
use minfer::{Model, SessionOptions};
use sha2::{Digest, Sha256};

use crate::common::session;
use crate::real;

/// The first 40,960 bytes of Genesis, in windows of 512 tokens.
const TEXT_SHA256: &str = "74264a1df5145a3aa2a87781df0fefc580d8900d82e6695010d03aaa9c97bbc2";

/// A model and what the other engine said of it.
struct Known {
    file: fn() -> Option<GgufFile>,
    windows: usize,
    /// With weights dequantized to f32.
    exact: f64,
    /// Of its quantized run.
    quantized: f64,
}

const SMOLLM2: Known = Known { file: real::smollm2, windows: 20, exact: 7.5080, quantized: 7.5492 };
const GEMMA3: Known = Known { file: real::gemma3, windows: 19, exact: 6.2737, quantized: 6.3627 };

impl Known {
    fn perplexity(&self, reference: bool) -> Option<f64> {
        let (file, path) = ((self.file)()?, real::setting("MINFER_TEST_TEXT")?);
        let text = std::fs::read_to_string(path).unwrap();
        let hex: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, TEXT_SHA256, "MINFER_TEST_TEXT is another text");
        let model = Arc::new(Model::from_file(file).unwrap());
        let options = SessionOptions { n_ctx: 512, reference, ..SessionOptions::default() };
        let mut session = session(&model, &options);
        let tokens = model.tokenize(&text, true).unwrap();
        let started = Instant::now();
        let mut so_far = Vec::new();
        let found = session.perplexity(&tokens, 512, &mut |_, _, value| so_far.push(value)).unwrap();
        assert_eq!((found.tokens, so_far.len()), (self.windows * 255, self.windows));
        println!(
            "perplexity {:.4} with reference {reference}, after 1, 5 and 10 windows {:.4} {:.4} {:.4}, {:.1?}",
            found.value(),
            so_far[0],
            so_far[4],
            so_far[9],
            started.elapsed()
        );
        Some(found.value())
    }

    fn check_reference(&self) {
        let Some(found) = self.perplexity(true) else { return };
        assert!((found / self.exact - 1.0).abs() <= 0.001, "{found}, elsewhere {}", self.exact);
    }

    fn check_quantized(&self) {
        let Some(found) = self.perplexity(false) else { return };
        let allowed = self.quantized - self.exact;
        assert!((found - self.exact).abs() <= allowed, "{found}, exact {}", self.exact);
    }
}

#[test]
fn perplexity_of_the_reference_run_of_smollm2_is_that_of_an_independent_engine() {
    SMOLLM2.check_reference();
}

#[test]
fn perplexity_of_the_quantized_run_of_smollm2_strays_no_further_than_an_independent_engine() {
    SMOLLM2.check_quantized();
}

#[test]
fn perplexity_of_the_reference_run_of_gemma3_is_that_of_an_independent_engine() {
    GEMMA3.check_reference();
}

#[test]
fn perplexity_of_the_quantized_run_of_gemma3_strays_no_further_than_an_independent_engine() {
    GEMMA3.check_quantized();
}
