//! Damaged files: whatever the damage, reading ends in an error or in a file that can be written
//! again and reads back the same.

use arbtest::arbitrary::{Result, Unstructured};
use gguf::{ElementType, Gguf, StrArray, Writer};

fn valid() -> Vec<u8> {
    let mut w = Writer::new();
    w.key("general.architecture", "llama").unwrap();
    w.key("general.alignment", 64u32).unwrap();
    w.key("a.flag", true).unwrap();
    w.key("a.numbers", vec![1i32, 2, 3]).unwrap();
    w.key("a.flags", vec![true, false]).unwrap();
    w.key("tokens", ["a", "\u{e9}", "\u{2581}x"].iter().collect::<StrArray>()).unwrap();
    w.tensor("t", &[32, 2], ElementType::Q4_0).unwrap();
    w.tensor("empty", &[0, 4], ElementType::F32).unwrap();
    w.tensor("u", &[3, 1, 2], ElementType::F16).unwrap();
    w.to_vec(|info| vec![0x5a; info.bytes as usize]).unwrap()
}

fn damage(bytes: &mut Vec<u8>, u: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..u.int_in_range(1..=4)? {
        if bytes.is_empty() {
            return Ok(());
        }
        let at = u.choose_index(bytes.len())?;
        let end = (at + u.int_in_range(1..=16)?).min(bytes.len());
        match u.int_in_range(0..=5)? {
            0 => bytes[at] = u.arbitrary()?,
            1 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
            2 => bytes[at..end].fill(*u.choose(&[0, 0xff, 0x80, 1])?),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            _ => {
                let copy = bytes[at..end].to_vec();
                let to = u.choose_index(bytes.len())?;
                bytes.splice(to..to, copy);
            }
        }
    }
    Ok(())
}

fn rewrite(parsed: &Gguf, data_of: &[u8]) -> Vec<u8> {
    let mut w = Writer::new();
    for (key, value) in parsed.metadata.iter() {
        w.key(key, value.clone()).unwrap();
    }
    for info in &parsed.tensors {
        w.tensor(info.name.as_str(), &info.dims, info.ty).unwrap();
    }
    let mut infos = parsed.tensors.iter();
    w.to_vec(|_| {
        let info = infos.next().unwrap();
        // The offset of a tensor without bytes may be anything.
        let start = if info.bytes == 0 { 0 } else { (parsed.data_offset + info.offset) as usize };
        data_of[start..][..info.bytes as usize].to_vec()
    })
    .unwrap()
}

#[test]
fn damaged_file_is_refused_or_reads_back_the_same() {
    let valid = valid();
    arbtest::arbtest(|u| {
        let mut bytes = valid.clone();
        damage(&mut bytes, u)?;
        if let Ok(parsed) = Gguf::parse(&bytes) {
            if parsed.alignment > 4096 {
                return Ok(()); // Legal, and gigabytes of padding.
            }
            let once = rewrite(&parsed, &bytes);
            let twice = rewrite(&Gguf::parse(&once).unwrap(), &once);
            // Bytes and not values are compared, since a damaged number can be NaN.
            assert_eq!(once, twice);
        }
        Ok(())
    })
    .budget_ms(1000);
}
