//! The order of a plane: every arrival and landing order of up to five operations of every kind, and of up to three
//! that may queue before they land.
mod common;

use common::{for_seeds, sequences, BOTH};
use remit_core::sequencer::{Kind, Sequencer};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    Arrive(Kind),
    /// Of the operation with this number: it stands in the queue, or has left it.
    Queue(usize, bool),
    /// Of the operation with this number. If it may not land yet, it is given up.
    Finish(usize),
}

const KINDS: [Kind; 4] = [
    Kind::Writes { to: 1 },
    Kind::Writes { to: 2 },
    Kind::Checkpoint { parent: Some(1) },
    Kind::Checkpoint { parent: None },
];

/// Does a checkpoint wait for what arrived before it? For other checkpoints, and for its parent's writes.
fn waits(kind: Kind, earlier: Kind) -> bool {
    match (kind, earlier) {
        (Kind::Writes { .. }, _) => false,
        (Kind::Checkpoint { .. }, Kind::Checkpoint { .. }) => true,
        (Kind::Checkpoint { parent }, Kind::Writes { to }) => parent == Some(to),
    }
}

/// The plane as a list of what is under way, oldest first. `queued`: what need not be waited for.
fn lands(under_way: &[(usize, Kind)], queued: &[usize], n: usize) -> bool {
    let own = under_way.iter().position(|(m, _)| *m == n);
    own.is_some_and(|i| {
        let kind = under_way[i].1;
        !under_way[..i]
            .iter()
            .any(|(m, earlier)| waits(kind, *earlier) && !queued.contains(m))
    })
}

/// Does what was done, and holds the sequencer against the list after each act.
fn check(acts: &[Act]) -> Vec<(usize, Kind)> {
    let mut plane = Sequencer::default();
    let mut numbers: Vec<u64> = Vec::new();
    let mut under_way: Vec<(usize, Kind)> = Vec::new();
    let mut queued: Vec<usize> = Vec::new();
    for act in acts {
        match act {
            Act::Arrive(kind) => {
                under_way.push((numbers.len(), *kind));
                numbers.push(plane.arrive(*kind));
            }
            Act::Queue(n, is_queued) => {
                queued.retain(|m| m != n);
                if *is_queued {
                    queued.push(*n);
                }
                plane.queue(numbers[*n], *is_queued);
            }
            Act::Finish(n) => {
                under_way.retain(|(m, _)| m != n);
                plane.finish(numbers[*n]);
                plane.finish(numbers[*n]); // again: as if it had never been called
            }
        }
        for (n, _) in &under_way {
            assert_eq!(
                plane.is_ready(numbers[*n]),
                lands(&under_way, &queued, *n),
                "{acts:?}"
            );
        }
        assert_eq!(plane.is_idle(), under_way.is_empty(), "{acts:?}");
        assert!(
            under_way.is_empty() || under_way.iter().any(|(n, _)| plane.is_ready(numbers[*n])),
            "stuck: {acts:?}"
        );
    }
    assert!(
        numbers.windows(2).all(|w| w[0] < w[1]),
        "numbered as they arrive"
    );
    under_way
}

fn explore(acts: &mut Vec<Act>, under_way: &[usize], arrived: usize, most: usize) {
    if arrived == most && under_way.is_empty() {
        assert!(check(acts).is_empty());
        return;
    }
    if arrived < most {
        for kind in KINDS {
            acts.push(Act::Arrive(kind));
            let mut more = under_way.to_vec();
            more.push(arrived);
            explore(acts, &more, arrived + 1, most);
            acts.pop();
        }
    }
    for n in under_way {
        if !acts.contains(&Act::Queue(*n, true)) && most <= 3 {
            acts.push(Act::Queue(*n, true));
            explore(acts, under_way, arrived, most);
            acts.pop();
        }
        acts.push(Act::Finish(*n));
        let rest: Vec<usize> = under_way.iter().copied().filter(|m| m != n).collect();
        explore(acts, &rest, arrived, most);
        acts.pop();
    }
}

#[test]
fn a_checkpoint_waits_for_its_parents_writes_and_for_checkpoints_and_nothing_waits_for_ever() {
    for most in 0..=5 {
        explore(&mut Vec::new(), &[], 0, most);
    }
}

#[test]
fn what_lands_in_turn_empties_the_plane() {
    // six operations of every kind, landing oldest or newest first of what the sequencer lets land
    for kinds in sequences(&KINDS, 6) {
        for newest_first in BOTH {
            let mut plane = Sequencer::default();
            let mut left: Vec<(u64, Kind)> = kinds.iter().map(|k| (plane.arrive(*k), *k)).collect();
            let mut landed: Vec<(u64, Kind)> = Vec::new();
            while !left.is_empty() {
                let mut ready = left.iter().filter(|(n, _)| plane.is_ready(*n));
                let next = if newest_first {
                    ready.next_back()
                } else {
                    ready.next()
                };
                assert!(next.is_some(), "stuck: {kinds:?}");
                let Some(next) = next.copied() else { break };
                plane.finish(next.0);
                left.retain(|o| *o != next);
                landed.push(next);
            }
            assert!(plane.is_idle());
            for (i, (n, kind)) in landed.iter().enumerate() {
                for (m, later) in &landed[i + 1..] {
                    assert!(
                        m > n || !waits(*kind, *later),
                        "{n} before {m} of {kinds:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn long_runs_keep_the_order_and_forget_what_has_landed() {
    for_seeds(200, |draw| {
        let mut acts: Vec<Act> = Vec::new();
        let mut under_way: Vec<usize> = Vec::new();
        let mut arrived = 0;
        for _ in 0..60 {
            if under_way.is_empty() || draw.below(2) == 0 {
                acts.push(Act::Arrive(draw.of(&KINDS)));
                under_way.push(arrived);
                arrived += 1;
            } else if draw.below(2) == 0 {
                acts.push(Act::Queue(draw.of(&under_way), draw.below(3) > 0));
            } else {
                let i = draw.below(under_way.len());
                acts.push(Act::Finish(under_way.remove(i)));
            }
        }
        acts.extend(under_way.iter().map(|n| Act::Finish(*n)));
        assert!(check(&acts).is_empty());
    });
}
