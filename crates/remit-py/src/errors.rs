//! The exceptions, and their messages from the one table (`remit_core::refusal`).
use std::collections::BTreeMap;

use pyo3::exceptions::{PyException, PyKeyError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use remit_core::refusal::{entry, Class, TABLE};

const CLASSES: &[(Class, &str, &str)] = &[
    (
        Class::StrayResume,
        "RemitStrayResume",
        "A resume that answers nothing. A warning category too: warned by default, raised with on_stray=\"raise\" and whenever going on would run something.",
    ),
    (
        Class::Validity,
        "RemitValidityError",
        "A state that its schema refuses. Nothing of it is part of the thread, which holds the last valid state.",
    ),
    (
        Class::Order,
        "RemitOrderViolation",
        "An operation out of its plane's order: a checkpoint whose parent is not where its run stands.",
    ),
    (
        Class::ConsumeConflict,
        "RemitConsumeConflict",
        "Another run has the right to answer, or has answered. `holder`, `since` and `lease_end` tell of it.",
    ),
    (
        Class::DuplicateEffect,
        "RemitDuplicateEffect",
        "An effect that another caller is firing, or that was fired with other arguments.",
    ),
    (
        Class::EffectInDoubt,
        "RemitEffectInDoubt",
        "An effect of which nobody can say whether it fired. `owner`, `since` and `fingerprint` tell what is known.",
    ),
    (
        Class::Prefix,
        "RemitPrefixViolation",
        "A step that is durable already was about to be stored again.",
    ),
];

fn name(class: Class) -> &'static str {
    CLASSES
        .iter()
        .find(|(c, ..)| *c == class)
        .map_or("RemitError", |(_, name, _)| name)
}

/// Makes the classes. All derive from RemitError.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let exception = py.get_type::<PyException>();
    let base = class(
        py,
        "RemitError",
        &[&exception],
        "The base of all errors of REMIT. `code` is stable; the other attributes are the fields of the message (thread, checkpoint, ...).",
    )?;
    m.add("RemitError", &base)?;
    for (kind, name, doc) in CLASSES {
        let warning = py.get_type::<PyUserWarning>();
        let bases: &[&Bound<'_, PyType>] = match kind {
            Class::StrayResume => &[&base, &warning],
            _ => &[&base],
        };
        m.add(*name, class(py, name, bases, doc)?)?;
    }
    Ok(())
}

fn class<'py>(
    py: Python<'py>,
    name: &str,
    bases: &[&Bound<'py, PyType>],
    doc: &str,
) -> PyResult<Bound<'py, PyType>> {
    let members = PyDict::new(py);
    members.set_item("__module__", "remit")?;
    members.set_item("__doc__", doc)?;
    Ok(py
        .get_type::<PyType>()
        .call1((name, PyTuple::new(py, bases)?, members))?
        .cast_into::<PyType>()?)
}

/// Fills in the `{name}` fields of a text; `{{` and `}}` are braces.
fn fill(text: &str, fields: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        if let Some(after) = tail.strip_prefix("{{") {
            out.push('{');
            rest = after;
        } else if let Some(after) = tail.strip_prefix("}}") {
            out.push('}');
            rest = after;
        } else if let Some((field, after)) = tail.strip_prefix('{').and_then(|t| t.split_once('}'))
        {
            match fields.get(field) {
                Some(value) => out.push_str(value),
                None => out.push_str("(unknown)"),
            }
            rest = after;
        } else {
            let mut chars = tail.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
    }
    out.push_str(rest);
    out
}

/// The exception of a code, ready to be raised or warned: its message from the table, its fields as attributes.
#[pyfunction]
#[pyo3(signature = (code, **fields))]
pub fn refuse<'py>(
    py: Python<'py>,
    code: &str,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let entry = entry(code).ok_or_else(|| PyKeyError::new_err(code.to_owned()))?;
    let mut texts = BTreeMap::new();
    for (key, value) in fields.into_iter().flatten() {
        texts.insert(
            key.extract::<String>()?,
            value.str()?.to_string_lossy().into_owned(),
        );
    }
    let message = format!(
        "{}\nhint: {}",
        fill(entry.message, &texts),
        fill(entry.hint, &texts)
    );
    let class = py.import("remit._core")?.getattr(name(entry.class))?;
    let error = class.cast::<PyType>()?.call1((message,))?;
    error.setattr("code", entry.code)?;
    for (key, value) in fields.into_iter().flatten() {
        error.setattr(key.cast::<pyo3::types::PyString>()?, value)?;
    }
    Ok(error)
}

/// The table of errors: (code, class, message, hint) each.
#[pyfunction]
pub fn errors() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    TABLE
        .iter()
        .map(|e| (e.code, name(e.class), e.message, e.hint))
        .collect()
}
