//! The machine, completions, pages of the manual.

use std::io::Write;
use std::process::{Command, Stdio};

use minfer::{Isa, default_threads};

use crate::support::{command, json, keys, minfer, run};

const COMMANDS: [&str; 13] = [
    "run",
    "chat",
    "embed",
    "logits",
    "tokenize",
    "perplexity",
    "plan",
    "inspect",
    "bench",
    "pull",
    "cpu",
    "completions",
    "man",
];

#[test]
fn cpu_tells_of_the_machine_and_of_every_tier() {
    let found = json(&["cpu", "--json"]);
    let expected = [
        "version",
        "architecture",
        "model",
        "cpus",
        "cores",
        "cpus_allowed",
        "cores_allowed",
        "quota",
        "threads",
        "tier",
        "tiers",
    ];
    assert_eq!(keys(&found), expected);
    assert_eq!((&found["version"], &found["architecture"]), (&1.into(), &std::env::consts::ARCH.into()));
    assert_eq!(found["threads"], default_threads());
    assert_eq!(found["tier"], Isa::detect().name());
    let tiers = found["tiers"].as_array().unwrap();
    assert_eq!(tiers.len(), Isa::ALL.len());
    for (tier, isa) in tiers.iter().zip(Isa::ALL) {
        assert_eq!(
            (&tier["name"], &tier["usable"]),
            (&isa.name().into(), &isa.is_available().is_ok().into())
        );
        assert_eq!(tier["why_not"], serde_json::json!(isa.is_available().err()));
    }
    if cfg!(target_os = "linux") {
        let count = |key: &str| found[key].as_u64().unwrap();
        assert!(count("cores") <= count("cpus") && count("cores_allowed") <= count("cpus_allowed"));
        assert!((1..=count("cores_allowed")).contains(&count("threads")), "{found}");
    }
    let shown = minfer(&["cpu"]).expect(0).out;
    assert!(Isa::ALL.iter().all(|isa| shown.contains(isa.name())) && !shown.contains("null"), "{shown}");
}

#[test]
fn the_version_names_the_kernels() {
    let out = minfer(&["--version"]).expect(0).out;
    assert_eq!(out, format!("minfer {} (kernels: {})\n", env!("CARGO_PKG_VERSION"), Isa::detect()));
}

#[test]
fn completions_know_commands_and_flags_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = minfer(&["completions", shell]).expect(0).out;
        for word in COMMANDS.iter().chain(&["dry-multiplier", "rope-scaling", "json"]) {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
    minfer(&["completions", "sh"]).refused(2, &["sh", "bash", "powershell"]);
}

#[test]
fn shells_that_are_there_accept_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = minfer(&["completions", shell]).expect(0).out;
        let child = Command::new(shell).arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("skipped: there is no {shell}");
            continue;
        };
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{shell}: {said}");
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let page = minfer(&["man"]).expect(0).out;
    assert!(page.contains(".TH minfer 1") && page.contains("130"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(&format!("minfer\\-{command}(1)")), "{command} is missing");
        let page = minfer(&["man", command]).expect(0).out;
        assert!(page.contains(&format!(".TH minfer-{command} 1")) && page.contains(".SH OPTIONS"), "{page}");
    }
    assert!(minfer(&["man", "run"]).expect(0).out.contains("\\-\\-dry\\-multiplier"));
    minfer(&["man", "dance"]).refused(1, &["dance", "run, chat"]);
}

#[test]
fn help_gives_exit_codes() {
    let help = minfer(&["--help"]).expect(0).out;
    assert!(help.contains("Exit codes: 0 done") && help.contains("130"), "{help}");
}

#[test]
fn colours_are_for_terminals_or_on_demand_and_can_be_turned_off() {
    let has_colours = |variables: &[(&str, &str)]| {
        let ran = run(command(&["run"]).envs(variables.iter().copied()));
        assert_eq!(ran.code, 2);
        ran.err.contains('\u{1b}')
    };
    assert!(has_colours(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    for arguments in [&["--help"][..], &["run", "--help"], &["run"]] {
        let ran = minfer(arguments);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{arguments:?}");
    }
}
