//! Any bytes end in an error or in a file that can be written again and reads back the same.
//!
//! `cargo +nightly fuzz run gguf_header`, from the root of the repository.
#![no_main]

use gguf::{Gguf, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(parsed) = Gguf::parse(bytes) else { return };
    for info in &parsed.tensors {
        assert!(info.dims.len() <= 4);
        if info.bytes > 0 {
            assert!(parsed.data_offset + info.offset + info.bytes <= bytes.len() as u64);
        }
    }
    if parsed.alignment > 4096 {
        return; // Legal, and gigabytes of padding to write.
    }
    let once = rewrite(&parsed, bytes);
    let read_back = Gguf::parse(&once).expect("the writer writes what the reader reads");
    assert_eq!(read_back.tensors.len(), parsed.tensors.len());
    // Bytes and not values are compared, since a number can be NaN.
    assert_eq!(rewrite(&read_back, &once), once);
});

fn rewrite(parsed: &Gguf, file: &[u8]) -> Vec<u8> {
    let mut w = Writer::new();
    for (key, value) in parsed.metadata.iter() {
        w.key(key, value.clone()).expect("a key that was read can be written");
    }
    for info in &parsed.tensors {
        let written = w.tensor(info.name.as_str(), &info.dims, info.ty);
        written.expect("a tensor that was read can be written");
    }
    let mut infos = parsed.tensors.iter();
    let data = |_: &gguf::TensorInfo| {
        let info = infos.next().expect("one call for each tensor");
        // The offset of a tensor without bytes may be anything.
        let start = if info.bytes == 0 { 0 } else { parsed.data_offset + info.offset };
        file[start as usize..][..info.bytes as usize].to_vec()
    };
    w.to_vec(data).expect("what was read can be written")
}
