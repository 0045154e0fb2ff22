//! What the writer writes, the reader reads back.

use std::io::Write;

use gguf::{ElementType, Error, Gguf, GgufFile, StrArray, Writer};

#[test]
fn every_value_type_reads_back() {
    let mut w = Writer::new();
    w.key("u8", 1u8).unwrap();
    w.key("i8", -1i8).unwrap();
    w.key("u16", 2u16).unwrap();
    w.key("i16", -2i16).unwrap();
    w.key("u32", 3u32).unwrap();
    w.key("i32", -3i32).unwrap();
    w.key("u64", u64::MAX).unwrap();
    w.key("i64", i64::MIN).unwrap();
    w.key("f32", 0.1f32).unwrap();
    w.key("f64", 0.1f64).unwrap();
    w.key("bool", true).unwrap();
    w.key("string", "text \u{2581}").unwrap();
    w.key("[u8]", vec![1u8, 2]).unwrap();
    w.key("[i16]", vec![-1i16]).unwrap();
    w.key("[f32]", vec![0.5f32; 3]).unwrap();
    w.key("[u64]", Vec::<u64>::new()).unwrap();
    w.key("[bool]", vec![true, false]).unwrap();
    w.key("[string]", ["", "a", "\u{4e2d}"].iter().collect::<StrArray>()).unwrap();
    let bytes = w.to_vec(|_| unreachable!("no tensors")).unwrap();
    let parsed = Gguf::parse(&bytes).unwrap();
    assert_eq!(parsed.version, 3);
    let mut again = Writer::new();
    for (key, value) in parsed.metadata.iter() {
        again.key(key, value.clone()).unwrap();
    }
    assert_eq!(again.to_vec(|_| Vec::new()).unwrap(), bytes);
    assert_eq!(parsed.metadata.get_f32("f32").unwrap(), Some(0.1));
    assert_eq!(parsed.metadata.get_str("string").unwrap(), Some("text \u{2581}"));
    assert_eq!(parsed.metadata.get_str_array("[string]").unwrap().unwrap().get(2), "\u{4e2d}");
}

#[test]
fn tensors_of_every_type_read_back() {
    let mut w = Writer::new();
    for &ty in ElementType::ALL {
        w.tensor(ty.name(), &[256, 3], ty).unwrap();
    }
    w.tensor("empty", &[0], ElementType::F32).unwrap();
    let bytes = w.to_vec(|info| vec![info.ty.id() as u8; info.bytes as usize]).unwrap();
    let file = GgufFile::from_bytes(&bytes).unwrap();
    assert_eq!(file.tensors().len(), ElementType::ALL.len() + 1);
    for &ty in ElementType::ALL {
        assert_eq!(ElementType::from_id(ty.id()), Some(ty));
        let info = file.tensor(ty.name()).unwrap();
        let bytes = 256 * 3 / ty.block_elements() * ty.block_bytes();
        assert_eq!((info.ty, info.bytes, info.ne(1), info.ne(3)), (ty, bytes, 3, 1));
        assert_eq!(file.data(info), vec![ty.id() as u8; bytes as usize]);
        assert_eq!(file.data(info).as_ptr() as usize % 32, 0);
    }
    assert!(file.data(file.tensor("empty").unwrap()).is_empty());
}

#[test]
fn alignment_key_sets_the_alignment_of_data() {
    let mut w = Writer::new();
    w.key("general.alignment", 128u32).unwrap();
    w.tensor("a", &[1], ElementType::F32).unwrap();
    w.tensor("b", &[1], ElementType::F32).unwrap();
    let parsed = Gguf::parse(&w.to_vec(|_| vec![0; 4]).unwrap()).unwrap();
    assert_eq!(parsed.data_offset % 128, 0);
    assert_eq!(parsed.tensors[1].offset, 128);
}

#[test]
fn data_of_the_wrong_size_is_refused() {
    let mut w = Writer::new();
    w.tensor("t", &[2], ElementType::F32).unwrap();
    for wrong in [0, 7, 9] {
        let error = w.to_vec(|_| vec![0; wrong]).unwrap_err();
        assert!(matches!(error, Error::TensorData { expected: 8, .. }), "{error}");
    }
    let pieces = w.write_to(std::io::sink(), |_, sink| {
        sink.write_all(&[0; 5])?;
        sink.write_all(&[0; 3])
    });
    assert!(pieces.is_ok());
}

#[test]
fn writer_refuses_what_the_reader_would() {
    let mut w = Writer::new();
    assert!(w.key("", 1u32).is_err());
    assert!(w.tensor("t", &[1; 5], ElementType::F32).is_err());
    assert!(w.tensor("t", &[31], ElementType::Q8_0).is_err());
    w.tensor("u", &[1], ElementType::F32).unwrap();
    assert!(w.tensor("u", &[1], ElementType::F32).is_err());
    w.key("general.alignment", 3u32).unwrap();
    assert!(matches!(w.to_vec(|_| vec![0; 4]), Err(Error::Alignment { found: 3 })));
}
