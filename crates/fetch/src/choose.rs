//! Which of a repository's files are wanted.

use crate::remote::{is_gguf, part_names};
use crate::{Error, Reference, RemoteFile};

/// What is taken without a QUANT, in this order: small enough for most machines, and good.
const DEFAULTS: [&str; 2] = ["Q4_K_M", "Q4_0"];

/// The one model that fits a reference, with all of its parts in order.
///
/// A file whose name has QUANT between other than letters, digits and underscores goes before one that only contains
/// it: `F16` is not `BF16`, if both are there. Projectors of multimodal models are no models.
pub(crate) fn choose(reference: &Reference, files: Vec<RemoteFile>) -> Result<Vec<RemoteFile>, Error> {
    let repository = reference.repository();
    let names: Vec<String> = heads(&files);
    let found = match reference.quant() {
        Some(quant) => fitting(&names, quant),
        None => {
            let by_default = DEFAULTS.iter().map(|quant| fitting(&names, quant));
            let first = by_default.into_iter().find(|found| !found.is_empty());
            first.unwrap_or_else(|| names.iter().collect())
        }
    };
    match found[..] {
        [] => {
            let wanted = reference.quant().map(str::to_owned);
            Err(Error::NoFile { repository, wanted, files: names })
        }
        [head] => parts(&repository, head, files),
        _ => Err(Error::Ambiguous { repository, files: found.into_iter().cloned().collect() }),
    }
}

/// The names of all models: single files, and of sets of parts the first.
fn heads(files: &[RemoteFile]) -> Vec<String> {
    let mut names = Vec::new();
    for file in files {
        let base = file.name.rsplit('/').next().unwrap_or_default().to_lowercase();
        if !is_gguf(&file.name) || base.contains("mmproj") {
            continue;
        }
        let head = part_names(&file.name).swap_remove(0);
        if !names.contains(&head) {
            names.push(head);
        }
    }
    names
}

fn fitting<'a>(names: &'a [String], quant: &str) -> Vec<&'a String> {
    let with = |alone: bool| names.iter().filter(|name| contains(name, quant, alone)).collect::<Vec<_>>();
    let alone = with(true);
    if alone.is_empty() { with(false) } else { alone }
}

/// Whether `quant` is somewhere in `name`, in any case; `alone`: not as a piece of a longer word.
fn contains(name: &str, quant: &str, alone: bool) -> bool {
    let (name, quant) = (name.to_lowercase(), quant.to_lowercase());
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    name.match_indices(&quant).any(|(at, _)| {
        let before = name[..at].chars().next_back().is_some_and(in_word);
        let after = name[at + quant.len()..].chars().next().is_some_and(in_word);
        !alone || !(before || after)
    })
}

fn parts(repository: &str, head: &str, files: Vec<RemoteFile>) -> Result<Vec<RemoteFile>, Error> {
    let wanted = part_names(head);
    let count = wanted.len();
    let part = |(i, name): (usize, String)| {
        let missing =
            || Error::PartMissing { repository: repository.into(), first: head.into(), part: i + 1, count };
        files.iter().find(|file| file.name == name).cloned().ok_or_else(missing)
    };
    let parts = wanted.into_iter().enumerate().map(part).collect::<Result<Vec<_>, _>>()?;
    for file in &parts {
        file.path()?;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(reference: &str, names: &[&str]) -> Result<Vec<String>, Error> {
        let file = |name: &&str| RemoteFile {
            url: String::new(),
            name: name.to_string(),
            bytes: None,
            sha256: None,
        };
        let found = choose(&reference.parse().unwrap(), names.iter().map(file).collect())?;
        Ok(found.into_iter().map(|file| file.name).collect())
    }

    #[test]
    fn without_a_quant_the_usual_ones_go_first_and_a_single_file_last() {
        let all = ["m-Q8_0.gguf", "m-Q4_0.gguf", "m-q4_k_m.gguf", "mmproj-Q4_K_M.gguf", "README.md"];
        assert_eq!(chosen("a/b", &all).unwrap(), ["m-q4_k_m.gguf"]);
        assert_eq!(chosen("a/b", &all[..2]).unwrap(), ["m-Q4_0.gguf"]);
        assert_eq!(chosen("a/b", &["m-Q8_0.gguf", "mmproj-f16.gguf"]).unwrap(), ["m-Q8_0.gguf"]);
        let error = chosen("a/b", &["m-Q8_0.gguf", "m-Q6_K.gguf"]).unwrap_err();
        assert!(error.to_string().contains("m-Q8_0.gguf, m-Q6_K.gguf"), "{error}");
    }

    #[test]
    fn a_quant_is_a_whole_word_if_it_can_be() {
        let all =
            ["m-BF16.gguf", "m-F16.gguf", "m-Q4_0.gguf", "m-Q4_0_4_4.gguf", "m-Q4_K_S.gguf", "m-Q4_K_M.gguf"];
        assert_eq!(chosen("a/b:f16", &all).unwrap(), ["m-F16.gguf"]);
        assert_eq!(chosen("a/b:Q4_0", &all).unwrap(), ["m-Q4_0.gguf"]);
        assert_eq!(chosen("a/b:k_s", &all).unwrap(), ["m-Q4_K_S.gguf"]);
        assert!(matches!(chosen("a/b:Q4_K", &all), Err(Error::Ambiguous { files, .. }) if files.len() == 2));
        assert!(matches!(chosen("a/b:Q9", &all), Err(Error::NoFile { files, .. }) if files.len() == 6));
        assert!(matches!(chosen("a/b", &["x.txt"]), Err(Error::NoFile { files, .. }) if files.is_empty()));
    }

    #[test]
    fn a_split_model_is_one_model_with_all_its_parts_in_order() {
        let parts = ["Q8_0/m-00002-of-00002.gguf", "Q8_0/m-00001-of-00002.gguf", "m-Q4_0.gguf"];
        let expected = ["Q8_0/m-00001-of-00002.gguf", "Q8_0/m-00002-of-00002.gguf"];
        assert_eq!(chosen("a/b:Q8_0", &parts).unwrap(), expected);
        assert!(matches!(chosen("a/b:Q8_0", &parts[..1]), Err(Error::PartMissing { part: 1, .. })));
    }

    #[test]
    fn a_hostile_name_is_refused_when_it_is_chosen() {
        for name in
            ["../m-Q4_0.gguf", "/m-Q4_0.gguf", "a/../../m-Q4_0.gguf", "..\\m-Q4_0.gguf", "C:m-Q4_0.gguf"]
        {
            assert!(matches!(chosen("a/b", &[name]), Err(Error::Name { .. })), "{name}");
        }
    }
}
