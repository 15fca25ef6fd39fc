// REJECTED. Theorem: theorem_stray_is_said (CO-e). Changed: an answer to a finished thread is let pass. Expected: postcondition: a stray is accepted.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/stray.rs"]
mod stray;
#[path = "../proof/stray_spec.rs"]
mod stray_spec;

use stray::*;
use stray_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn judge_spec(thread: Thread, answer: Answer, named_only: bool, policy: Policy) -> Verdict {
    match fault(thread, answer, named_only) {
        None => Verdict::Accept,
        Some(reason) => if always_refused(reason) {
            Verdict::Refuse(reason)
        } else if policy == Policy::Ignore {
            Verdict::Accept
        } else if policy == Policy::Warn && reason == Reason::NotWaiting {
            Verdict::Accept // CHANGED from: Verdict::Report(reason)
        } else {
            Verdict::Refuse(reason)
        },
    }
}

/// THEOREM said: no stray passes in silence, but by the user's own wish.
pub proof fn theorem_stray_is_said(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
    requires
        fault(thread, answer, named_only) is Some,
        policy != Policy::Ignore,
    ensures
        !(judge_spec(thread, answer, named_only, policy) is Accept), // FAILS
{
}

} // verus!
