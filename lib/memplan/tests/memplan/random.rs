//! Random problems that are always valid: chains and branches, views, rights to overwrite, several spaces, all pins.

use arbtest::arbitrary::{Result, Unstructured};
use memplan::{Overwrite, Pin, Problem, Space, SpaceId, Step, Value, ValueId};

/// A valid problem of up to about forty values.
pub fn problem(u: &mut Unstructured<'_>) -> Result<Problem> {
    let mut p = Problem::default();
    for i in 0..u.int_in_range(1..=3)? {
        let align = *u.choose(&[1, 16, 64, 256])?;
        p.add_space(Space { name: format!("space {i}"), align, limit: None });
    }
    // What can be read from the next step on.
    let mut ready = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        let pin = *u.choose(&[Pin::Input, Pin::Fresh])?;
        let filled = new_value(&mut p, u, &[])?;
        p.values[filled.index()].pin = pin;
        ready.push(filled);
    }
    for s in 0..u.int_in_range(1..=20)? {
        for _ in 0..u.int_in_range(0..=1)? {
            ready.extend(new_view(&mut p, u, &ready)?);
        }
        let (step, made) = new_step(&mut p, u, s, &ready)?;
        p.add_step(step);
        ready.extend(made);
    }
    Ok(p)
}

fn new_step(
    p: &mut Problem,
    u: &mut Unstructured<'_>,
    s: usize,
    ready: &[ValueId],
) -> Result<(Step, Vec<ValueId>)> {
    let mut reads = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        if !ready.is_empty() {
            // Mostly what was made lately, so that lives end and storages are taken over.
            let recent = if u.ratio(3, 4)? { ready.len().saturating_sub(4) } else { 0 };
            reads.push(*u.choose(&ready[recent..])?);
        }
    }
    let mut writes = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        let write = new_value(p, u, &reads)?;
        p.values[write.index()].pin =
            *u.choose(&[Pin::None, Pin::None, Pin::None, Pin::None, Pin::Output, Pin::Fresh, Pin::Scratch])?;
        writes.push(write);
    }
    let mut step = Step::new(format!("s{s}"), reads.iter().copied(), writes.iter().copied());
    for &write in &writes {
        for &read in &reads {
            if u.ratio(3, 4)? {
                step = step.overwriting(Overwrite { write, read });
            }
        }
    }
    // Some views are made by a step, the others just exist.
    if u.ratio(1, 4)?
        && let Some(view) = new_view(p, u, &reads)?
    {
        step.writes.push(view);
        writes.push(view);
    }
    Ok((step, writes))
}

/// A value of its own, often of the size and in the space of something that its step reads.
fn new_value(p: &mut Problem, u: &mut Unstructured<'_>, like: &[ValueId]) -> Result<ValueId> {
    let mut bytes = *u.choose(&[0, 1, 60, 64, 100, 1000, 4096, 20_000, 40_000])?;
    let mut space = SpaceId(u.int_in_range(0..=p.spaces.len() as u32 - 1)?);
    if !like.is_empty() && u.ratio(3, 4)? {
        let like = &p.values[u.choose(like)?.index()];
        (bytes, space) = (like.bytes, like.space);
    }
    let name = format!("v{}", p.values.len());
    Ok(p.add_value(Value::new(name, bytes, space)))
}

/// A view of something, half of them over all of it, sometimes an output.
fn new_view(p: &mut Problem, u: &mut Unstructured<'_>, of: &[ValueId]) -> Result<Option<ValueId>> {
    if of.is_empty() {
        return Ok(None);
    }
    let parent = *u.choose(of)?;
    let Value { bytes: parent_bytes, space, .. } = p.values[parent.index()];
    let (mut offset, mut bytes) = (0, parent_bytes);
    if u.ratio(1, 2)? {
        offset = u.int_in_range(0..=parent_bytes)?;
        bytes = u.int_in_range(0..=parent_bytes - offset)?;
    }
    let pin = if u.ratio(1, 10)? { Pin::Output } else { Pin::None };
    let name = format!("view v{}", p.values.len());
    Ok(Some(p.add_value(Value::new(name, bytes, space).viewing(parent, offset).pinned(pin))))
}
