//! `remit_core::claim` and `ending`. Owners are texts, told apart by equality alone; a row is what a database keeps of a claim.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use remit_core::claim as core;
use remit_core::ending;

/// What the caller is told. The fields of a verdict are those of the row: a grant's fence and end, the holder of a
/// claim that is refused, the grant that consumed it.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimVerdict {
    /// It is the caller's.
    Granted,
    /// It stays the caller's.
    Renewed,
    /// Consumed, released, or freed.
    Accepted,
    /// Another run has it.
    Refused,
    /// The grant that the caller names is over.
    Stale,
    /// It was consumed before, perhaps by the caller itself.
    AlreadyConsumed,
    /// The grant that the caller names was never made, or no fence is left to grant.
    Illegal,
}

/// How a run that held the claim ended.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It stored a checkpoint.
    Put,
    /// It recorded an answer that it had been given, and parked.
    Answered,
    /// It parked, with nothing answered.
    Parked,
    /// It failed.
    Failed,
    /// It was killed, cancelled or closed.
    Gone,
}

/// The numbers that stand for the caller, and for whoever has the claim if that is not the caller.
const MINE: u64 = 0;
const ANOTHERS: u64 = 1;

/// What is asked of a claim, and for whom. The time is the store's to give.
#[pyclass(module = "remit._core", eq, frozen, from_py_object)]
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimInput {
    owner: String,
    input: core::Input,
}

#[pymethods]
impl ClaimInput {
    /// To have it. `lease`: for how long.
    #[staticmethod]
    fn acquire(owner: String, lease: u64) -> Self {
        let input = core::Input::Acquire {
            owner: MINE,
            now: 0,
            lease,
        };
        ClaimInput { owner, input }
    }

    /// To keep it longer. Never shortens the lease.
    #[staticmethod]
    fn renew(owner: String, fence: u64, lease: u64) -> Self {
        let input = core::Input::Renew {
            owner: MINE,
            fence,
            now: 0,
            lease,
        };
        ClaimInput { owner, input }
    }

    /// To settle it for good.
    #[staticmethod]
    fn consume(owner: String, fence: u64) -> Self {
        let input = core::Input::Consume { owner: MINE, fence };
        ClaimInput { owner, input }
    }

    /// To give it back, because a person decided so. Runs settle their claims with `word`.
    #[staticmethod]
    fn release(owner: String, fence: u64) -> Self {
        let input = core::Input::Release {
            owner: MINE,
            fence,
            why: core::Why::ByPerson,
        };
        ClaimInput { owner, input }
    }

    /// To free it for a holder that is known to be dead.
    #[staticmethod]
    fn declare_dead(owner: String, fence: u64) -> Self {
        let input = core::Input::DeclareDead { owner: MINE, fence };
        ClaimInput { owner, input }
    }

    /// For whom.
    #[getter]
    fn owner(&self) -> &str {
        &self.owner
    }

    /// The grant that it speaks for; None where it asks for one.
    #[getter]
    fn fence(&self) -> Option<u64> {
        match self.input {
            core::Input::Acquire { .. } => None,
            core::Input::Renew { fence, .. }
            | core::Input::Consume { fence, .. }
            | core::Input::Release { fence, .. }
            | core::Input::DeclareDead { fence, .. } => Some(fence),
        }
    }

    /// What is asked, for an audit trail; of a release, why.
    #[getter]
    fn what(&self) -> &'static str {
        match self.input {
            core::Input::Acquire { .. } => "acquire",
            core::Input::Renew { .. } => "renew",
            core::Input::Consume { .. } => "consume",
            core::Input::Release { why, .. } => match why {
                core::Why::ParkedAgain => "parked",
                core::Why::Failed => "failed",
                core::Why::Abandoned => "abandoned",
                core::Why::ByPerson => "released",
            },
            core::Input::DeclareDead { .. } => "dead",
        }
    }
}

impl ClaimInput {
    /// At the store's time. A lease ends where an SQL integer does at the latest.
    fn at(&self, now: u64) -> core::Input {
        let most = (i64::MAX as u64).saturating_sub(now);
        match self.input {
            core::Input::Acquire { owner, lease, .. } => core::Input::Acquire {
                owner,
                now,
                lease: lease.min(most),
            },
            core::Input::Renew {
                owner,
                fence,
                lease,
                ..
            } => core::Input::Renew {
                owner,
                fence,
                now,
                lease: lease.min(most),
            },
            timeless => timeless,
        }
    }
}

/// What settles the claim of a run that has ended.
#[pyfunction]
pub fn word(owner: String, fence: u64, fate: Fate) -> ClaimInput {
    let fate = match fate {
        Fate::Put => core::Fate::Put,
        Fate::Answered => core::Fate::ParkedAgain { answered: true },
        Fate::Parked => core::Fate::ParkedAgain { answered: false },
        Fate::Failed => core::Fate::Failed,
        Fate::Gone => core::Fate::Gone,
    };
    let input = core::word(MINE, fence, fate);
    ClaimInput { owner, input }
}

/// What is stored of a task: does it ask no more what the claim is on, did it fail, does it ask something.
type Done = (bool, bool, bool);

fn outcomes(tasks: Vec<Done>) -> Vec<ending::Outcome> {
    tasks
        .into_iter()
        .map(|(answered, failed, parked)| ending::Outcome {
            answered,
            failed,
            parked,
        })
        .collect()
}

/// What becomes of the claim of a run that stores nothing more, by what is stored of its tasks.
#[pyfunction]
pub fn fate_of(tasks: Vec<Done>) -> Fate {
    match ending::fate(&outcomes(tasks)) {
        core::Fate::Put => Fate::Put,
        core::Fate::ParkedAgain { answered: true } => Fate::Answered,
        core::Fate::ParkedAgain { answered: false } => Fate::Parked,
        core::Fate::Failed => Fate::Failed,
        core::Fate::Gone => Fate::Gone,
    }
}

/// Does no checkpoint follow the one that triggers so many tasks (0: not known), of which these are done?
#[pyfunction]
pub fn is_over(triggered: u64, tasks: Vec<Done>) -> bool {
    ending::is_over(triggered, &outcomes(tasks))
}

/// Is the position that a run read before its grant still the present one?
#[pyfunction]
#[pyo3(signature = (fence, *, is_new, asks, tasks, is_untouched))]
pub fn is_present(fence: u64, is_new: bool, asks: bool, tasks: u64, is_untouched: bool) -> bool {
    let position = ending::Position {
        is_new,
        asks,
        tasks,
        is_untouched,
    };
    ending::is_present(fence, position)
}

/// State, owner, last fence, end of the lease.
type Row = (String, Option<String>, u64, u64);

/// What becomes of a claim: (its row, the verdict). A row is (free, held or consumed; who holds or took it; the last
/// fence; the end of the lease), None where there is none yet. `now` is the store's time, in the unit of the leases.
#[pyfunction]
pub fn decide(row: Option<Row>, input: ClaimInput, now: u64) -> PyResult<(Row, ClaimVerdict)> {
    let row = row.unwrap_or_else(|| ("free".to_string(), None, core::fresh().last, 0));
    let fence = row.2;
    let state = match row.0.as_str() {
        "free" => core::State::Free,
        "held" => core::State::Held {
            owner: match &row.1 {
                Some(holder) if *holder == input.owner => MINE,
                _ => ANOTHERS,
            },
            fence,
            lease_end: row.3,
        },
        "consumed" => core::State::Consumed { fence },
        other => return Err(PyValueError::new_err(format!("no such state: {other:?}"))),
    };
    let before = core::Claim { state, last: fence };
    let (after, verdict) = core::decide(before, input.at(now));
    let verdict = match verdict {
        core::Verdict::Granted { .. } => ClaimVerdict::Granted,
        core::Verdict::Renewed { .. } => ClaimVerdict::Renewed,
        core::Verdict::Accepted => ClaimVerdict::Accepted,
        core::Verdict::Refused { .. } => ClaimVerdict::Refused,
        core::Verdict::Stale => ClaimVerdict::Stale,
        core::Verdict::AlreadyConsumed { .. } => ClaimVerdict::AlreadyConsumed,
        core::Verdict::Illegal => ClaimVerdict::Illegal,
    };
    if after == before {
        return Ok((row, verdict));
    }
    // whatever changes a claim comes from the run that had it, or has it now
    let (state, owner, lease_end) = match after.state {
        core::State::Free => ("free", None, 0),
        core::State::Held { lease_end, .. } => ("held", Some(input.owner), lease_end),
        core::State::Consumed { .. } => ("consumed", Some(input.owner), 0),
    };
    Ok(((state.to_string(), owner, after.last, lease_end), verdict))
}
