// REJECTED. Theorem: theorem_prefix (PC). Changed: a task that is durable may become durable again. Expected: postcondition: a task is in the durable prefix twice.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/commit.rs"]
mod commit;
#[path = "../proof/commit_spec.rs"]
mod commit_spec;

use commit::*;
use commit_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn step(log: Seq<u64>, r: Request) -> Seq<u64> {
    if r.valid { // CHANGED from: if r.valid && !log.contains(r.task) {
        log.push(r.task)
    } else {
        log
    }
}

pub open spec fn run(log: Seq<u64>, rs: Seq<Request>) -> Seq<u64>
    decreases rs.len(),
{
    if rs.len() == 0 {
        log
    } else {
        step(run(log, rs.drop_last()), rs.last())
    }
}

/// THEOREM prefix-continuation: over any sequence of requests the durable prefix is never changed,
/// no task is durable twice, and each durable task had a request that was valid.
pub proof fn theorem_prefix(log: Seq<u64>, rs: Seq<Request>)
    requires
        log.no_duplicates(),
    ensures
        log.is_prefix_of(run(log, rs)),
        run(log, rs).no_duplicates(), // FAILS
        forall|i: int|
            log.len() <= i < run(log, rs).len() ==> asked_valid(rs, #[trigger] run(log, rs)[i]),
    decreases rs.len(),
{
    if rs.len() > 0 {
        let before = rs.drop_last();
        theorem_prefix(log, before);
        let mid = run(log, before);
        assert forall|i: int| log.len() <= i < run(log, rs).len() implies asked_valid(
            rs,
            #[trigger] run(log, rs)[i],
        ) by {
            if i < mid.len() {
                assert(asked_valid(before, mid[i]));
                let k = choose|k: int|
                    0 <= k < before.len() && (#[trigger] before[k]).task == mid[i] && before[k].valid;
                assert(rs[k] == before[k]);
            } else {
                assert(rs[rs.len() - 1] == rs.last());
            }
        }
    }
}

} // verus!
