//! Another engine on the same systems: stateright searches three of them and must count the same.
//!
//! It takes over the transition functions, not the search, the packing of states or the counting.
use remit_model::checker::{check, Error, System};
use remit_model::runs::Models;
use remit_model::systems::claim::{ConsumeClaim, MATRIX};
use remit_model::systems::consume_count::ConsumeCount;
use remit_model::systems::ResumeContract;
use stateright::{Checker, Model, Property};
use std::fmt::Debug;
use std::hash::Hash;

struct Adapter<S>(S);

impl<S: System> Model for Adapter<S>
where
    S::State: Hash + Debug,
    S::Action: Debug + PartialEq,
{
    type State = S::State;
    /// The steps are produced at once, so an action carries the state that it leads to.
    type Action = S::State;

    fn init_states(&self) -> Vec<S::State> {
        vec![self.0.init()]
    }

    fn actions(&self, state: &S::State, actions: &mut Vec<S::State>) {
        self.0.next(state, &mut |_, next| actions.push(next));
    }

    fn next_state(&self, _: &S::State, next: S::State) -> Option<S::State> {
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            // never found, so that the search is complete
            Property::always("all that holds", |model: &Self, state: &S::State| {
                let mut held = model
                    .0
                    .properties()
                    .into_iter()
                    .filter(|p| HOLDING.contains(&p.name));
                held.all(|p| (p.always)(&model.0, state))
            }),
        ]
    }
}

const HOLDING: [&str; 6] = ["TypeOK", "PC", "EO", "FD", "CV", "RD"];

/// Generated, distinct, depth: by stateright, which must find no counterexample, and by the checker.
fn both<S>(system: S) -> Result<[(usize, usize, usize); 2], Error>
where
    S: System + Copy + Send + Sync + 'static,
    S::State: Hash + Debug + Send + Sync,
    S::Action: Debug + PartialEq,
{
    let own = check(&system, &[], false, &mut |_| {})?;
    let other = Adapter(system).checker().spawn_bfs().join();
    other.assert_properties();
    Ok([
        (
            other.state_count(),
            other.unique_state_count(),
            other.max_depth(),
        ),
        (
            own.generated as usize,
            own.distinct as usize,
            own.depth as usize,
        ),
    ])
}

#[test]
fn the_reference_and_the_wide_race_count_alike() -> Result<(), Error> {
    let models = Models::of_the_repository();
    let reference = ResumeContract::new(&models.config("R0_reference")?)?;
    assert_eq!(both(reference)?, [(87, 59, 8); 2]);
    let race = ConsumeCount::new(&models.config("R11/wide_race_idempotent_holding")?)?;
    assert_eq!(both(race)?, [(14_986, 8_191, 14); 2]);
    Ok(())
}

#[test]
fn the_claim_counts_alike() -> Result<(), Error> {
    for (two_writes, counts) in [
        (false, (80_768, 10_487, 15)),
        (true, (701_477, 111_620, 20)),
    ] {
        let claim = ConsumeClaim {
            bounds: MATRIX,
            two_writes,
            fault: None,
        };
        assert_eq!(both(claim)?, [counts; 2]);
    }
    Ok(())
}

/// The engine does look: under a fault it finds the counterexample.
#[test]
#[should_panic(expected = "all that holds")]
fn a_fault_is_found() {
    let models = Models::of_the_repository();
    let faulty = models
        .config("matrix/Replay_EO")
        .and_then(|c| ResumeContract::new(&c));
    let _ = faulty.and_then(both);
}
