//! Strays: all inputs.
mod common;

use common::BOTH;
use remit_core::stray::{judge, Answer, Policy, Reason, Thread, Verdict};

const THREADS: [Thread; 6] = [
    Thread::Absent,
    Thread::NoSuchCheckpoint,
    Thread::Finished,
    Thread::Parked,
    Thread::Unfinished,
    Thread::Unknown,
];
const POLICIES: [Policy; 3] = [Policy::Warn, Policy::Raise, Policy::Ignore];

fn answers() -> Vec<Answer> {
    let mut all = Vec::new();
    for takers in [0, 1, 2, usize::MAX] {
        for refused in BOTH {
            all.push(Answer::Bare { takers, refused });
        }
    }
    for names in [0, 1, 2, 3, usize::MAX] {
        for open in [0, 1, 2, 3, usize::MAX] {
            all.push(Answer::Named { names, open }); // also more open than named: facts may be wrong, the core is total
        }
    }
    all
}

fn all() -> Vec<(Thread, Answer, bool, Policy)> {
    let mut all = Vec::new();
    for thread in THREADS {
        for answer in answers() {
            for named_only in BOTH {
                for policy in POLICIES {
                    all.push((thread, answer, named_only, policy));
                }
            }
        }
    }
    all
}

/// Is there a question that it is for?
fn answers_something(thread: Thread, answer: Answer) -> bool {
    let waits = matches!(
        thread,
        Thread::Parked | Thread::Unfinished | Thread::Unknown
    );
    waits
        && match answer {
            // where no question is open, only the graph knows: a static breakpoint, a failed node
            Answer::Bare { takers, .. } => thread != Thread::Parked || takers <= 1,
            Answer::Named { names, open } => names > 0 && open > 0,
        }
}

fn is_whole(answer: Answer) -> bool {
    match answer {
        Answer::Bare { .. } => true,
        Answer::Named { names, open } => open >= names,
    }
}

/// LangGraph itself runs nothing.
fn is_refused_anyway(answer: Answer) -> bool {
    matches!(answer, Answer::Bare { refused: true, .. })
}

/// Does LangGraph run anything if it goes on?
fn would_run(thread: Thread) -> bool {
    thread != Thread::Finished
}

#[test]
fn a_stray_is_refused_or_runs_nothing() {
    for (thread, answer, named_only, policy) in all() {
        let verdict = judge(thread, answer, named_only, policy);
        let is_stray = !(answers_something(thread, answer) && is_whole(answer));
        let runs = would_run(thread) && (thread != Thread::Parked || !is_refused_anyway(answer));
        if is_stray && runs && policy != Policy::Ignore {
            assert!(
                matches!(verdict, Verdict::Refuse(_)),
                "{thread:?} {answer:?} {policy:?} {verdict:?}"
            );
        }
        if thread == Thread::NoSuchCheckpoint {
            // it would start from the beginning
            assert_eq!(verdict, Verdict::Refuse(Reason::NoSuchCheckpoint));
        }
        if is_stray && policy != Policy::Ignore && !is_refused_anyway(answer) {
            assert_ne!(verdict, Verdict::Accept, "silent: {thread:?} {answer:?}");
        }
    }
}

#[test]
fn an_answer_to_an_open_question_is_taken_whatever_the_policy() {
    for (thread, answer, named_only, policy) in all() {
        if answers_something(thread, answer) && is_whole(answer) {
            let verdict = judge(thread, answer, named_only, policy);
            if matches!(answer, Answer::Bare { .. }) && named_only {
                assert_eq!(verdict, Verdict::Refuse(Reason::Unnamed));
            } else {
                assert_eq!(verdict, Verdict::Accept, "{thread:?} {answer:?} {policy:?}");
            }
        }
    }
}

#[test]
fn a_bare_answer_that_two_may_take_is_refused_and_one_that_one_may_take_is_not() {
    for policy in [Policy::Warn, Policy::Raise] {
        for (takers, expected) in [
            (0, Verdict::Accept),
            (1, Verdict::Accept),
            (2, Verdict::Refuse(Reason::Ambiguous)),
        ] {
            let answer = |refused| Answer::Bare { takers, refused };
            assert_eq!(
                judge(Thread::Parked, answer(false), false, policy),
                expected
            );
            // LangGraph's own refusal has its own words
            assert_eq!(
                judge(Thread::Parked, answer(true), false, policy),
                Verdict::Accept
            );
        }
    }
}

#[test]
fn what_fires_nothing_is_reported_by_default() {
    for (thread, answer, named_only, _) in all() {
        let verdict = judge(thread, answer, named_only, Policy::Warn);
        if thread == Thread::Finished {
            assert_eq!(verdict, Verdict::Report(Reason::NotWaiting));
        }
        if matches!(verdict, Verdict::Report(_)) {
            assert_eq!(thread, Thread::Finished);
        }
    }
}

#[test]
fn the_policy_decides_how_loud_it_is() {
    for (thread, answer, named_only, policy) in all() {
        let verdict = judge(thread, answer, named_only, policy);
        match policy {
            Policy::Warn => {
                if let Verdict::Report(_) = verdict {
                    assert!(!would_run(thread));
                }
            }
            Policy::Raise => assert!(!matches!(verdict, Verdict::Report(_))),
            Policy::Ignore => {
                let always = [Reason::NoSuchCheckpoint, Reason::Unnamed];
                match verdict {
                    Verdict::Accept => {}
                    Verdict::Refuse(reason) => assert!(always.contains(&reason)),
                    Verdict::Report(_) => assert_eq!(verdict, Verdict::Accept),
                }
            }
        }
        // a stricter policy refuses at least as much
        if matches!(
            judge(thread, answer, named_only, Policy::Ignore),
            Verdict::Refuse(_)
        ) {
            assert!(matches!(verdict, Verdict::Refuse(_)));
        }
        if matches!(
            judge(thread, answer, named_only, Policy::Warn),
            Verdict::Refuse(_)
        ) {
            assert!(matches!(
                judge(thread, answer, named_only, Policy::Raise),
                Verdict::Refuse(_)
            ));
        }
    }
}
