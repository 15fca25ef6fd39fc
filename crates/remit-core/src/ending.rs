//! The end of a run that holds a claim: what became of the claim, and whether anything can follow.
use super::claim::Fate;
#[cfg(verus_only)]
use super::ending_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// What is stored of one task, at the checkpoint where the run stands.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The claim is on a question of its own, and it asks that no more.
    pub answered: bool,
    /// It failed.
    pub failed: bool,
    /// It asks something.
    pub parked: bool,
}

/// What becomes of the claim of a run that stores nothing after this. A task that failed has recorded nothing that a
/// later run would not ask for again, or serve.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == fate_spec(tasks@),
))]
pub fn fate(tasks: &[Outcome]) -> Fate {
    let mut past = false;
    let mut failed = false;
    let mut parked = false;
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= tasks@.len(),
            past == exists|j: int| 0 <= j < i && is_past(#[trigger] tasks@[j]),
            failed == exists|j: int| 0 <= j < i && (#[trigger] tasks@[j]).failed,
            parked == exists|j: int| 0 <= j < i && (#[trigger] tasks@[j]).parked,
        decreases tasks@.len() - i,
    ))]
    while i < tasks.len() {
        let t = tasks[i];
        past = past || (t.answered && !t.failed);
        failed = failed || t.failed;
        parked = parked || t.parked;
        #[cfg(verus_only)]
        proof! {
            assert(is_past(tasks@[i as int]) == (t.answered && !t.failed));
        }
        i += 1;
    }
    if past {
        Fate::ParkedAgain { answered: true }
    } else if failed {
        Fate::Failed
    } else if parked {
        Fate::ParkedAgain { answered: false }
    } else {
        Fate::Gone
    }
}

/// Does no checkpoint follow the one that triggers so many tasks, of which these are done? None does where all are done
/// and one of them failed or asks. `triggered`: 0 where it is not known.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == is_over_spec(triggered, tasks@),
))]
pub fn is_over(triggered: u64, tasks: &[Outcome]) -> bool {
    if triggered == 0 || (tasks.len() as u64) < triggered {
        return false;
    }
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= tasks@.len(),
            forall|j: int| 0 <= j < i ==> !is_stuck(#[trigger] tasks@[j]),
        decreases tasks@.len() - i,
    ))]
    while i < tasks.len() {
        if tasks[i].failed || tasks[i].parked {
            #[cfg(verus_only)]
            proof! {
                assert(is_stuck(tasks@[i as int]));
            }
            return true;
        }
        i += 1;
    }
    false
}

/// The position that a run read before its claim was granted.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// There was no checkpoint.
    pub is_new: bool,
    /// A question is open there.
    pub asks: bool,
    /// How many tasks are to run there; 0 where it is not known.
    pub tasks: u64,
    /// Nothing but questions is recorded there.
    pub is_untouched: bool,
}

/// Is the position still the present one, once this grant is made? Else it is to be read again: a run may have gone past
/// it between the read and the grant. None did where the grant is the first one and nobody passes without one: a new
/// thread's, or an open question's where no other task can have come to an end.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == is_present_spec(fence, p),
))]
pub fn is_present(fence: u64, p: Position) -> bool {
    fence == 1 && (p.is_new || (p.asks && p.tasks == 1 && p.is_untouched))
}
