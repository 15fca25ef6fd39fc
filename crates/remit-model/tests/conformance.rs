//! `remit-core` against the model: every sequence at the reference bounds, every state at wider ones, 20,000 random
//! sequences; and every planted fault is caught.
use remit_model::checker::{Error, System};
use remit_model::conformance::broken::{Broken, Fault, FAULTS};
use remit_model::conformance::core::Shipped;
use remit_model::conformance::search::{
    every_sequence, every_state, fails, random, Trace, REFERENCE, WIDER,
};
use remit_model::conformance::shadow::ALSO;
use remit_model::runs::Models;
use remit_model::systems::parked::{Parked, State};
use remit_model::systems::{Bounds, Faults, ResumeContract};

/// Two crashes, so that recoveries can be compared; two forks beside the first answer, so that branches can.
const TELLING: Bounds = Bounds {
    max_resumes: 3,
    max_crashes: 2,
    ..REFERENCE
};

/// How many sequences the model allows from a state, counted without a world or a core.
fn sequences(model: &Parked, s: &State) -> usize {
    let mut n = 1;
    model.next(s, &mut |_, next| n += sequences(model, &next));
    n
}

fn model(bounds: Bounds) -> Parked {
    Parked {
        base: ResumeContract {
            bounds,
            faults: Faults::default(),
        },
        durable_parking: true,
    }
}

#[test]
fn every_sequence_at_the_reference_bounds_conforms() {
    for (bounds, tried, runs) in [(REFERENCE, 138, 59), (TELLING, 1_554, 259)] {
        let found = every_sequence(Shipped::default, bounds);
        assert_eq!(found.first, None, "{:?}", found.broken);
        assert_eq!(
            found.tried,
            sequences(&model(bounds), &model(bounds).init())
        );
        assert_eq!((found.tried, found.runs), (tried, runs));
    }
}

/// 4,267 is the model's own count: `Parked/durable_wide_safety` in `models/results.csv`.
#[test]
fn every_state_at_the_wider_bounds_conforms() {
    let found = every_state(Shipped::default, WIDER);
    assert_eq!(found.first, None, "{:?}", found.broken);
    assert_eq!(found.runs, 4_267);
}

#[test]
fn random_sequences_conform() {
    match random(|_| Shipped::default(), 0..20_000) {
        // long enough to mean something
        Ok(actions) => assert!(actions > 300_000, "{actions}"),
        Err(failure) => {
            let replay = "cargo run -p remit-model -- replay";
            assert_eq!(failure.to_string(), "", "{replay} '{}'", failure.trace);
        }
    }
}

/// What the faults beyond the model's switches break. "step": something was seen that the model does not allow.
const FURTHER: [(Fault, &[&str]); 14] = [
    (Fault::ReplayUnderLedger, &["PC", "step"]),
    (Fault::OrderSensitive, &["RD"]),
    (Fault::StuckFrontier, &["frontier"]),
    (Fault::OneBranch, &["branches"]),
    (Fault::TokenForgotten, &["EO", "branches"]),
    (Fault::OrdinalGap, &["EO", "branches"]),
    (Fault::StickyAnswer, &["FD", "attempts", "step"]),
    (Fault::ForgottenAnswer, &["attempts"]),
    (Fault::VolatileParking, &["step"]),
    (Fault::ConsumedAgain, &["COc", "claims"]),
    (Fault::LeaseIgnored, &["COc", "claims"]),
    (Fault::LeaseForEver, &["COc", "claims"]),
    (Fault::FenceIgnored, &["COc", "claims"]),
    (Fault::KeptByFailure, &["claims"]),
];

/// A switch of the model, planted in the core, breaks the properties that the fault matrix says, and no others.
#[test]
fn every_planted_fault_is_caught() -> Result<(), Error> {
    let runs = Models::of_the_repository().runs()?;
    let mut switches = 0;
    for fault in FAULTS {
        let found = every_sequence(|| Broken::new(fault, TELLING.gate), TELLING);
        let broken: Vec<&str> = found.broken.into_iter().collect();
        if let Some((_, expected)) = FURTHER.iter().find(|(f, _)| *f == fault) {
            assert_eq!(broken, *expected, "{fault:?}");
            continue;
        }
        switches += 1;
        let row = format!("matrix/{fault:?}_");
        let cells = runs.iter().filter(|r| r.name.starts_with(&row));
        let violated = cells.filter(|r| r.pinned.verdict != "all hold");
        let mut expected: Vec<&str> = violated.map(|r| r.checked.as_str()).collect();
        expected.sort_unstable();
        // besides, the model does not allow the step, and the rest of the world may notice
        let named = broken.into_iter().filter(|b| !ALSO.contains(b));
        assert_eq!(named.collect::<Vec<_>>(), expected, "{fault:?}");
    }
    assert_eq!(switches, 6);
    Ok(())
}

/// The shadow would be worth little if the core kept it.
#[test]
fn the_shadow_shares_nothing_with_the_core() {
    let shadow = include_str!("../src/conformance/shadow.rs");
    assert!(shadow
        .lines()
        .filter(|l| !l.starts_with("//!"))
        .all(|l| !l.contains("remit_core")));
}

#[test]
fn a_random_failure_is_shrunk_and_replays_from_its_text() -> Result<(), String> {
    for fault in FAULTS {
        let make = |b: Bounds| Broken::new(fault, b.gate);
        let Err(failure) = random(make, 0..2_000) else {
            return Err(format!("{fault:?} was not caught"));
        };
        let read: Trace = failure.trace.to_string().parse()?;
        assert_eq!(read, failure.trace);
        let again = fails(&make, &read).ok_or("the trace does not fail again")?;
        assert!(again.1.contains(&failure.broken[0]));
        // nothing can be left out
        for i in 0..read.actions.len() {
            let mut shorter = read.clone();
            shorter.actions.remove(i);
            assert!(fails(&make, &shorter).is_none_or(|(_, b)| !b.contains(&failure.broken[0])));
        }
    }
    Ok(())
}
