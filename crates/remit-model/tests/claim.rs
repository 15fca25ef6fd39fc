//! The claim in the model: each outcome is reached, each wrong rule breaks what it should and nothing else, and what it
//! breaks is broken by the core's own decisions.
use remit_model::checker::{check, Error, System, Verdict};
use remit_model::runs::Models;
use remit_model::systems::claim::{ConsumeClaim, Fault, FAULTS, MATRIX};
use std::collections::BTreeSet;

/// What the store can say to a worker. The last one is for stores of two writes.
const OUTCOMES: [&str; 13] = [
    "granted",
    "renewed",
    "refused",
    "stale",
    "already consumed",
    "taken over after its lease",
    "declared dead",
    "freed by a failure",
    "freed by a re-park",
    "freed by abandonment",
    "consumed by a park with an answer",
    "consumed by a checkpoint",
    "consumed at the second look",
];

fn claim(two_writes: bool, fault: Option<Fault>) -> ConsumeClaim {
    ConsumeClaim {
        bounds: MATRIX,
        two_writes,
        fault,
    }
}

fn names(system: &ConsumeClaim) -> Vec<String> {
    let names = system.properties().into_iter().map(|p| p.name.to_string());
    names.collect()
}

#[test]
fn every_outcome_is_reached_and_no_other() -> Result<(), Error> {
    for two_writes in [false, true] {
        let system = claim(two_writes, None);
        let outcome = check(&system, &names(&system), false, &mut |_| {})?;
        assert_eq!(outcome.verdict, Verdict::Holds);
        let reached: BTreeSet<&str> = outcome.events.iter().map(|(event, _)| *event).collect();
        let expected = &OUTCOMES[..OUTCOMES.len() - usize::from(!two_writes)];
        assert_eq!(reached, expected.iter().copied().collect());
    }
    Ok(())
}

#[test]
fn each_wrong_rule_breaks_what_it_should_and_nothing_else() -> Result<(), Error> {
    for fault in FAULTS {
        let system = claim(fault == Fault::NoSecondLook, Some(fault));
        let mut broken = Vec::new();
        for name in names(&system) {
            let found = check(&system, std::slice::from_ref(&name), false, &mut |_| {})?;
            if found.verdict != Verdict::Holds {
                broken.push(name);
            }
        }
        let expected: &[&str] = match fault {
            // a gate that refuses a legitimate answer
            Fault::PerCheckpoint => &["Takeable", "Completable"],
            Fault::KeepsOnFailure => &["Freed"],
            // a gate that lets a duplicate through
            Fault::KeyFollowsRecord | Fault::AnswerFrees => &["COc", "OneRun"],
            Fault::Unfenced | Fault::NoSecondLook => &["COc", "OneRun"],
            Fault::ClockAhead => &["Lease"],
        };
        assert_eq!(broken, expected, "{fault:?}");
    }
    Ok(())
}

/// The second look is what the two writes need, and one transaction does not.
#[test]
fn one_transaction_needs_no_second_look() -> Result<(), Error> {
    let system = claim(false, Some(Fault::NoSecondLook));
    let found = check(&system, &names(&system), false, &mut |_| {})?;
    assert_eq!(found.verdict, Verdict::Holds);
    Ok(())
}

#[test]
fn each_property_of_each_wrong_rule_is_pinned_once() -> Result<(), Error> {
    let runs = Models::of_the_repository().runs()?;
    for fault in FAULTS {
        let own = format!("claim/matrix/{fault:?}_");
        let own = runs.iter().filter(|r| r.name.starts_with(&own));
        let mut pinned: Vec<&str> = own.flat_map(|r| r.checked.split(' ')).collect();
        pinned.sort_unstable();
        let mut all = names(&claim(false, None));
        all.sort_unstable();
        assert_eq!(pinned, all, "{fault:?}");
    }
    Ok(())
}
