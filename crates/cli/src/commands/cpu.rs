//! `minfer cpu`.

use std::fmt::Write;

use anyhow::Result;
use minfer::{Isa, Topology, cpu_brand, default_threads};
use serde_json::{Value as Json, json};

use super::{JSON_VERSION, print_json, print_text};
use crate::args::CpuArgs;

pub fn run(args: CpuArgs) -> Result<()> {
    let (brand, machine) = (cpu_brand(), Topology::detect());
    if args.json {
        return print_json(&to_json(brand.as_deref(), &machine));
    }
    print_text(&for_people(brand.as_deref(), &machine)?)
}

fn to_json(brand: Option<&str>, machine: &Topology) -> Json {
    let tier = |isa: Isa| json!({"name": isa.name(), "usable": isa.is_available().is_ok(), "why_not": isa.is_available().err()});
    json!({
        "version": JSON_VERSION,
        "architecture": std::env::consts::ARCH,
        "model": brand,
        "cpus": machine.cpus,
        "cores": machine.cores,
        "cpus_allowed": machine.cpus_allowed,
        "cores_allowed": machine.cores_allowed,
        "quota": machine.quota(),
        "threads": default_threads(),
        "tier": Isa::detect().name(),
        "tiers": Isa::ALL.map(tier),
    })
}

fn for_people(brand: Option<&str>, machine: &Topology) -> Result<String> {
    let cores = |cores: Option<usize>, cpus: Option<usize>| match (cores, cpus) {
        (Some(cores), Some(cpus)) => format!("{cores} (hardware threads: {cpus})"),
        _ => "unknown".to_owned(),
    };
    let quota = machine.quota().map_or("none".to_owned(), |cpus| format!("{cpus} hardware threads' time"));
    let mut out = String::new();
    writeln!(out, "CPU            {} ({})", brand.unwrap_or("unknown"), std::env::consts::ARCH)?;
    writeln!(out, "cores          {}", cores(machine.cores, machine.cpus))?;
    writeln!(out, "allowed        {}", cores(machine.cores_allowed, machine.cpus_allowed))?;
    writeln!(out, "quota          {quota}")?;
    writeln!(out, "threads        {}", default_threads())?;
    writeln!(out, "kernels        {}\n\ntiers", Isa::detect())?;
    for isa in Isa::ALL {
        writeln!(out, "  {:<12} {}", isa.name(), isa.is_available().err().unwrap_or("usable"))?;
    }
    Ok(out)
}
