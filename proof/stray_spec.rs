//! Strays: the rule, and what it promises.
use super::stray::*;
use vstd::prelude::*;

verus! {

/// What is wrong with a resume, if anything is.
pub open spec fn fault(thread: Thread, answer: Answer, named_only: bool) -> Option<Reason> {
    match thread {
        Thread::NoSuchCheckpoint => Some(Reason::NoSuchCheckpoint),
        Thread::Absent => Some(Reason::NoThread),
        Thread::Finished => Some(Reason::NotWaiting),
        _ => match answer {
            Answer::Bare { takers, refused } => if named_only {
                Some(Reason::Unnamed)
            } else if thread == Thread::Parked && takers > 1 && !refused {
                Some(Reason::Ambiguous)
            } else {
                None
            },
            Answer::Named { names, open } => if names == 0 {
                Some(Reason::EmptyMap)
            } else if open == 0 {
                Some(Reason::UnknownInterrupt)
            } else if open < names {
                Some(Reason::SomeUnknown)
            } else {
                None
            },
        },
    }
}

/// No policy lets it through.
pub open spec fn always_refused(reason: Reason) -> bool {
    reason == Reason::NoSuchCheckpoint || reason == Reason::Unnamed
}

pub open spec fn judge_spec(thread: Thread, answer: Answer, named_only: bool, policy: Policy) -> Verdict {
    match fault(thread, answer, named_only) {
        None => Verdict::Accept,
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

/// THEOREM inert: what is reported and let run finds a thread on which nothing is left to run.
pub proof fn theorem_reported_runs_nothing(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
    requires
        judge_spec(thread, answer, named_only, policy) is Report,
    ensures
        thread == Thread::Finished,
{
}

/// THEOREM said: no stray passes in silence, but by the user's own wish.
pub proof fn theorem_stray_is_said(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
    requires
        fault(thread, answer, named_only) is Some,
        policy != Policy::Ignore,
    ensures
        !(judge_spec(thread, answer, named_only, policy) is Accept),
{
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
        judge_spec(thread, answer, named_only, policy) == Verdict::Accept,
{
}

} // verus!
