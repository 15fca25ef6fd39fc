// REJECTED. Theorem: theorem_permutation (RD). Changed: the i-th task is matched with the i-th record that landed. Expected: postcondition: two orders of one log have two plans.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/recovery.rs"]
pub mod recovery;
#[path = "../proof/recovery_spec.rs"]
pub mod recovery_spec;

use alloc::vec::Vec;
use recovery::{is_recorded, Decision, Record};
use recovery_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn skips(log: Seq<Record>, tasks: Seq<u64>, i: int) -> bool {
    i < log.len() && log[i].task == tasks[i] // CHANGED from: recorded(log, tasks[i])
}

pub open spec fn plan_by(log: Seq<Record>, tasks: Seq<u64>) -> Seq<Decision> {
    Seq::new(tasks.len(), |i: int| if skips(log, tasks, i) { Decision::Skip } else { Decision::Run })
}

pub proof fn theorem_permutation_by(a: Seq<Record>, b: Seq<Record>, tasks: Seq<u64>)
    requires
        a.to_multiset() == b.to_multiset(),
    ensures
        plan_by(a, tasks) =~= plan_by(b, tasks), // FAILS
{
    theorem_permutation(a, b, tasks);
    assert forall|i: int| 0 <= i < tasks.len() implies decide(a, tasks[i]) == decide(b, tasks[i]) by {
        assert(plan_spec(a, tasks)[i] == plan_spec(b, tasks)[i]);
    }
}

} // verus!

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret@ == plan_by(log@, tasks@),
))]
pub fn plan_in_order(log: &[Record], tasks: &[u64]) -> Vec<Decision> {
    let mut out: Vec<Decision> = Vec::new();
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= tasks@.len(),
            out@.len() == i,
            forall|j: int| 0 <= j < i ==> #[trigger] out@[j] == plan_by(log@, tasks@)[j],
        decreases tasks@.len() - i,
    ))]
    while i < tasks.len() {
        let skip = i < log.len() && log[i].task == tasks[i]; // CHANGED from: let skip = is_recorded(log, tasks[i]);
        let decision = if skip { Decision::Skip } else { Decision::Run };
        out.push(decision);
        i += 1;
    }
    #[cfg(verus_only)]
    proof! {
        assert(out@ =~= plan_by(log@, tasks@));
    }
    out
}
