// REJECTED. Theorem: the contract of `commit`, that a refused one changes nothing, for theorem_prefix and theorem_durable_iff_valid (CV). Changed: validity is asked after the append. Expected: postcondition: a refused commit is in the log.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/commit.rs"]
pub mod commit;
#[path = "../proof/commit_spec.rs"]
pub mod commit_spec;

use commit::{Plane, Refusal};
use vstd::prelude::*;

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret is Err ==> final(plane).log@ == old(plane).log@, // FAILS
        ret is Ok ==> final(plane).log@ == old(plane).log@.push(task),
        old(plane).log@.is_prefix_of(final(plane).log@),
))]
pub fn commit_late(plane: &mut Plane, task: u64, valid: bool) -> Result<usize, Refusal> {
    // CHANGED from: if !valid { return Err(Refusal::Invalid); }
    if plane.frontier != plane.log.len() {
        return Err(Refusal::Diverged {
            frontier: plane.frontier,
            log: plane.log.len(),
        });
    }
    match plane.step_of(task) {
        Some(step) => Err(Refusal::Durable { step }),
        None => {
            let step = plane.frontier;
            plane.log.push(task);
            if !valid { return Err(Refusal::Invalid); } // CHANGED from:
            plane.frontier = plane.log.len();
            Ok(step)
        }
    }
}
