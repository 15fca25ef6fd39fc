//! `remit_core::effect`. A row is what a database keeps of an effect's last admission.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use remit_core::effect as core;

/// What the caller of an effect is told.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum EffectVerdict {
    /// It is the caller's to fire.
    Fresh,
    /// It has fired before: the caller gets what it returned.
    Replay,
    /// Another caller is firing it.
    Racer,
    /// It may have fired, and nobody is there to say.
    InDoubt,
    /// It was admitted with other arguments.
    Mismatch,
    /// The caller no longer holds what entitles it to execute.
    Fenced,
    /// The word is taken.
    Accepted,
    /// The admission that the caller names is over.
    Stale,
    /// The admission that the caller names was never made, or none is left to make.
    Illegal,
}

/// What is known of whoever was admitted last.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum EffectOwner {
    /// It is executing.
    Alive,
    /// It will not say any more what became of the effect.
    Gone,
    /// It is out of sight.
    Unknown,
}

/// What the user wants of an effect in doubt.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// To be told.
    Raise,
    /// To fire it again.
    Retry,
}

impl From<EffectOwner> for core::Owner {
    fn from(owner: EffectOwner) -> Self {
        match owner {
            EffectOwner::Alive => core::Owner::Alive,
            EffectOwner::Gone => core::Owner::Gone,
            EffectOwner::Unknown => core::Owner::Unknown,
        }
    }
}

impl From<core::Verdict> for EffectVerdict {
    fn from(verdict: core::Verdict) -> Self {
        match verdict {
            core::Verdict::Fresh { .. } => EffectVerdict::Fresh,
            core::Verdict::Replay { .. } => EffectVerdict::Replay,
            core::Verdict::Racer { .. } => EffectVerdict::Racer,
            core::Verdict::InDoubt { .. } => EffectVerdict::InDoubt,
            core::Verdict::Mismatch { .. } => EffectVerdict::Mismatch,
            core::Verdict::Fenced => EffectVerdict::Fenced,
            core::Verdict::Accepted => EffectVerdict::Accepted,
            core::Verdict::Stale => EffectVerdict::Stale,
            core::Verdict::Illegal => EffectVerdict::Illegal,
        }
    }
}

/// State, number of the last admission, until when its owner is taken for alive.
type Row = (String, u64, u64);

fn effect(row: &Option<Row>) -> PyResult<core::Effect> {
    let Some((state, fence, until)) = row else {
        return Ok(core::fresh());
    };
    let (fence, until) = (*fence, *until);
    let state = match state.as_str() {
        "released" => core::State::Free,
        "admitted" => core::State::Admitted { fence, until },
        "done" => core::State::Done { fence },
        other => return Err(PyValueError::new_err(format!("no such state: {other:?}"))),
    };
    Ok(core::Effect { state, last: fence })
}

fn word(effect: core::Effect) -> &'static str {
    match effect.state {
        core::State::Free => "released",
        core::State::Admitted { .. } => "admitted",
        core::State::Done { .. } => "done",
    }
}

/// Somebody asks to fire an effect: the number of the admission that is to be added if it is fresh, else of the one
/// that is there; and the verdict. A row is (released, admitted or done; the last admission's number; until when its
/// owner is taken for alive), None where there is none. `now` is the store's time, `lease` in its unit.
#[pyfunction]
#[pyo3(signature = (row, *, now, lease, holds, same, owner, doubt))]
pub fn admit_effect(
    row: Option<Row>,
    now: u64,
    lease: u64,
    holds: bool,
    same: bool,
    owner: EffectOwner,
    doubt: Doubt,
) -> PyResult<(u64, EffectVerdict)> {
    let doubt = match doubt {
        Doubt::Raise => core::Doubt::Raise,
        Doubt::Retry => core::Doubt::Retry,
    };
    let input = core::Input::Admit {
        now,
        lease,
        holds,
        same,
        owner: owner.into(),
        doubt,
    };
    let (then, verdict) = core::decide(effect(&row)?, input);
    Ok((then.last, verdict.into()))
}

/// The owner of an admission says what became of its effect: the state that is to be stored, and the verdict.
#[pyfunction]
pub fn settle_effect(
    row: Option<Row>,
    fence: u64,
    fired: bool,
) -> PyResult<(&'static str, EffectVerdict)> {
    let input = if fired {
        core::Input::Done { fence }
    } else {
        core::Input::Release { fence }
    };
    let (then, verdict) = core::decide(effect(&row)?, input);
    Ok((word(then), verdict.into()))
}

/// A person says what became of an effect in doubt: the state that is to be stored, and the verdict.
#[pyfunction]
#[pyo3(signature = (row, fence, *, now, owner, fired))]
pub fn resolve_effect(
    row: Option<Row>,
    fence: u64,
    now: u64,
    owner: EffectOwner,
    fired: bool,
) -> PyResult<(&'static str, EffectVerdict)> {
    let input = core::Input::Resolve {
        now,
        fence,
        owner: owner.into(),
        fired,
    };
    let (then, verdict) = core::decide(effect(&row)?, input);
    Ok((word(then), verdict.into()))
}

/// Is an effect in doubt: admitted, with nobody there to say what became of it?
#[pyfunction]
#[pyo3(signature = (row, *, now, owner))]
pub fn is_in_doubt(row: Option<Row>, now: u64, owner: EffectOwner) -> PyResult<bool> {
    Ok(core::is_in_doubt(effect(&row)?, owner.into(), now))
}
