//! The recovery plan: a function of the durable records, whatever order they landed in.
use alloc::vec::Vec;

#[cfg(verus_only)]
use super::recovery_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// One durable record: a task's writes are stored. `place` says where it landed.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Where it landed: no decision looks at it.
    pub place: u64,
    /// The task.
    pub task: u64,
}

/// What becomes of a task.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The task's writes are durable: it is not run again.
    Skip,
    /// Nothing durable: the task runs.
    Run,
}

/// Are the task's writes durable?
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == recorded(log@, task),
))]
pub fn is_recorded(log: &[Record], task: u64) -> bool {
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= log@.len(),
            forall|j: int| 0 <= j < i ==> (#[trigger] log@[j]).task != task,
        decreases log@.len() - i,
    ))]
    while i < log.len() {
        if log[i].task == task {
            return true;
        }
        i += 1;
    }
    false
}

/// One decision per task: skip exactly what is durably recorded.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret@ == plan_spec(log@, tasks@),
))]
pub fn plan(log: &[Record], tasks: &[u64]) -> Vec<Decision> {
    let mut out: Vec<Decision> = Vec::new();
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= tasks@.len(),
            out@ == plan_spec(log@, tasks@.take(i as int)),
        decreases tasks@.len() - i,
    ))]
    while i < tasks.len() {
        let decision = if is_recorded(log, tasks[i]) {
            Decision::Skip
        } else {
            Decision::Run
        };
        out.push(decision);
        i += 1;
        #[cfg(verus_only)]
        proof! {
            assert(out@ =~= plan_spec(log@, tasks@.take(i as int)));
        }
    }
    #[cfg(verus_only)]
    proof! {
        assert(tasks@.take(i as int) =~= tasks@);
    }
    out
}
