//! `remit_core::branch`.
use pyo3::prelude::*;
use remit_core::branch as core;

/// The ordinal of a fork at one checkpoint: (ordinal, is it fresh). `entries`: the forks of that checkpoint so
/// far, in the order of their ordinals, each with its token.
#[pyfunction]
pub fn fork(entries: Vec<Option<String>>, token: Option<&str>) -> (usize, bool) {
    let mut forks = core::empty();
    let mut names: Vec<&str> = Vec::new();
    for entry in &entries {
        let token = entry.as_deref().map(|t| number(&mut names, t));
        forks.fork(0, token);
    }
    let token = token.map(|t| number(&mut names, t));
    match forks.fork(0, token) {
        core::Ordinal::Known(ordinal) => (ordinal, false),
        core::Ordinal::Fresh(ordinal) => (ordinal, true),
    }
}

fn number<'a>(names: &mut Vec<&'a str>, name: &'a str) -> u64 {
    if let Some(i) = names.iter().position(|n| *n == name) {
        return i as u64;
    }
    names.push(name);
    names.len() as u64 - 1
}
