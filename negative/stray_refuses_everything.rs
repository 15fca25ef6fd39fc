// REJECTED. Theorem: theorem_legitimate_is_accepted (live). Changed: every answer is refused: no stray fires anything, and nothing else does. Expected: postcondition: a legitimate answer is refused.
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
        None => Verdict::Refuse(Reason::NotWaiting), // CHANGED from: None => Verdict::Accept,
        Some(reason) => if always_refused(reason) {
            Verdict::Refuse(reason)
        } else if policy == Policy::Ignore {
            Verdict::Accept
        } else if policy == Policy::Warn && reason == Reason::NotWaiting {
            Verdict::Report(reason)
        } else {
            Verdict::Refuse(reason)
        },
    }
}

/// THEOREM legitimate: an answer by name to open questions, and a bare one where at most one question can take it, are
/// accepted whatever the policy.
pub proof fn theorem_legitimate_is_accepted(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
    requires
        thread == Thread::Parked || thread == Thread::Unfinished || thread == Thread::Unknown,
        match answer {
            Answer::Bare { takers, refused } => !named_only && takers <= 1,
            Answer::Named { names, open } => names >= 1 && open >= names,
        },
    ensures
        judge_spec(thread, answer, named_only, policy) == Verdict::Accept, // FAILS
{
}

} // verus!
