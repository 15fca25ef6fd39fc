// REJECTED. Theorem: theorem_reported_runs_nothing (CO-e). Changed: every stray is reported and let run. Expected: postcondition: a stray is let run on a thread that does not exist.
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
        } else if policy == Policy::Warn { // CHANGED from: } else if policy == Policy::Warn && reason == Reason::NotWaiting {
            Verdict::Report(reason)
        } else {
            Verdict::Refuse(reason)
        },
    }
}

/// THEOREM inert: what is reported and let run finds a thread on which nothing is left to run.
pub proof fn theorem_reported_runs_nothing(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
    requires
        judge_spec(thread, answer, named_only, policy) is Report,
    ensures
        thread == Thread::Finished, // FAILS
{
}

} // verus!
