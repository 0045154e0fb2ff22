//! Long runs of one character ended other programs by deep recursion or quadratic time.

use text::EncodeOptions;

use crate::small::Small;
use crate::small_spm::SmallSpm;

const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

fn runs(scale: usize) -> Vec<String> {
    let mut state = 1u64;
    let base64 = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 58) as usize]
    });
    vec![
        "Z".repeat(scale),
        " ".repeat(scale),
        ".".repeat(scale),
        "\n".repeat(scale),
        " \n".repeat(scale / 2),
        "us".repeat(scale / 2),
        "\u{4E00}".repeat(scale / 2),
        format!("e{}", "\u{301}".repeat(scale / 2)),
        base64.take(scale * 8).map(char::from).collect(),
        "<|im_end|>".repeat(scale / 10),
    ]
}

#[test]
fn long_runs_decode_to_themselves_with_a_small_stack() {
    let check = || {
        // With a space before each special token there is more text than was written.
        let spm = SmallSpm { add_space_prefix: Some(false), ..SmallSpm::new() };
        for text in runs(131_072) {
            let ids = spm.tokenizer().encode(&text, PLAIN).unwrap();
            assert!(spm.tokenizer().decode(&ids, true) == text, "{:?}", &text[..8]);
        }
        for pre in ["gpt-2", "smollm", "qwen2", "llama-bpe"] {
            let tokenizer = Small::new(pre).tokenizer();
            for text in runs(131_072) {
                let ids = tokenizer.encode(&text, PLAIN).unwrap();
                assert!(tokenizer.decode(&ids, true) == text, "{pre}: {:?}", &text[..8]);
            }
        }
    };
    std::thread::Builder::new().stack_size(128 * 1024).spawn(check).unwrap().join().unwrap();
}

#[test]
fn shortened_runs_have_the_ids_of_the_plainest_bpe() {
    let small = Small::new("llama-bpe");
    let tokenizer = small.tokenizer();
    for text in runs(2_000) {
        let pieces = text::PreTokenizer::LlamaBpe.split(&text);
        let plain: Vec<u32> = pieces.flat_map(|piece| small.plain_bpe(piece.as_bytes())).collect();
        assert_eq!(tokenizer.encode(&text, PLAIN).unwrap(), plain, "{:?}", &text[..8]);
    }
}

#[test]
fn shortened_runs_have_the_ids_of_the_plainest_sentence_piece() {
    let mut small = SmallSpm::new();
    // Without special tokens all is merged.
    ["  ", "\n\n"].iter().for_each(|text| small.remove(text));
    for text in runs(200) {
        assert_eq!(small.tokenizer().encode(&text, PLAIN).unwrap(), small.plain(&text), "{:?}", &text[..8]);
    }
}
