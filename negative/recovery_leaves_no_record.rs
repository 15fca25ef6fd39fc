// REJECTED. Theorem: lemma_executed_all, on which theorem_idempotent rests (RD). Changed: a task that a recovery ran is not recorded. Expected: postcondition: the next recovery runs it again.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/recovery.rs"]
mod recovery;
#[path = "../proof/recovery_spec.rs"]
mod recovery_spec;

use recovery::*;
use recovery_spec::*;
use vstd::prelude::*;

verus! {

/// What a recovery that carries out a plan leaves in the log: a record for each task it ran.
pub open spec fn executed(log: Seq<Record>, tasks: Seq<u64>, plan: Seq<Decision>, place: u64) -> Seq<Record>
    decreases tasks.len(),
{
    if tasks.len() == 0 || plan.len() != tasks.len() {
        log
    } else {
        let before = executed(log, tasks.drop_last(), plan.drop_last(), place);
        if plan.last() == Decision::Run {
            before // CHANGED from: before.push(Record { place, task: tasks.last() })
        } else {
            before
        }
    }
}

/// A task that a recovery planned is recorded after it.
pub proof fn theorem_one_task_is_recorded(log: Seq<Record>, task: u64, place: u64)
    ensures
        recorded(executed(log, seq![task], plan_spec(log, seq![task]), place), task), // FAILS
{
    let tasks = seq![task];
    let p = plan_spec(log, tasks);
    assert(tasks.drop_last().len() == 0);
    assert(tasks.last() == task);
    assert(p.last() == decide(log, task));
    assert(executed(log, tasks.drop_last(), p.drop_last(), place) == log);
    assert(log.push(Record { place, task })[log.len() as int].task == task);
}

} // verus!
