//! Row ids: every string of up to five of the characters that mean something.
mod common;

use common::sequences;
use remit_core::ids::{branch, format, ordinal, parse, Part, Row};

fn strings(alphabet: &[char], most: usize) -> Vec<String> {
    sequences(alphabet, most)
        .iter()
        .map(|s| s.iter().collect())
        .collect()
}

const PARTS: [Part; 8] = [
    Part::Own,
    Part::Question,
    Part::Waiting(0),
    Part::Waiting(9),
    Part::Waiting(usize::MAX),
    Part::Attempt(1),
    Part::Attempt(9),
    Part::Attempt(usize::MAX),
];

/// What a row is for; at most one thing.
fn part(row: &Row) -> Part {
    let parts = [
        row.asks.then_some(Part::Question),
        row.waits_for.map(Part::Waiting),
        row.attempt.map(Part::Attempt),
    ];
    assert!(parts.iter().flatten().count() <= 1, "{row:?}");
    parts.into_iter().flatten().next().unwrap_or(Part::Own)
}

fn put_together(row: &Row) -> String {
    format(&row.task, row.branch.as_deref(), part(row))
}

#[test]
fn every_string_is_taken_apart_and_put_together() {
    for id in strings(&['t', '|', 'f', 'a', 'q', 'x', '0', '1', '+', 'é'], 5) {
        let row = parse(&id);
        assert_eq!(parse(&put_together(&row)), row, "{id}");
        let ours = row.branch.is_some() || part(&row) != Part::Own;
        if ours {
            assert!(!row.task.contains('|'), "{id}");
        } else {
            assert_eq!(row.task, id, "what is not ours is left alone");
        }
    }
}

#[test]
fn a_row_has_one_id() {
    // else a row could be stored beside another one that it should replace
    for id in strings(&['t', '|', 'f', 'a', 'q', 'x', '0', '1', '+', 'é'], 5) {
        let row = parse(&id);
        assert_eq!(put_together(&row), id);
    }
}

#[test]
fn what_is_put_together_is_taken_apart() {
    for task in strings(&['t', 'f', 'a', 'q', '0', '.', 'é', ' '], 3) {
        for of in [
            None,
            Some("c.0"),
            Some(""),
            Some("f"),
            Some("a1"),
            Some("q"),
        ] {
            for part in PARTS {
                let row = parse(&format(&task, of, part));
                assert_eq!(
                    (row.task.as_str(), row.branch.as_deref()),
                    (task.as_str(), of)
                );
                assert_eq!(self::part(&row), part);
            }
        }
    }
}

#[test]
fn rows_of_different_things_have_different_ids() {
    let mut seen = std::collections::BTreeMap::new();
    for task in ["t", "u", ""] {
        for of in [None, Some("c.0"), Some("c.1"), Some("")] {
            for part in PARTS {
                let id = format(task, of, part);
                let other = seen.insert(id.clone(), (task, of, part));
                assert!(other.is_none(), "{id}: {other:?}");
            }
        }
    }
}

#[test]
fn the_name_of_a_branch_tells_its_checkpoint_and_its_ordinal() {
    let checkpoints = strings(&['c', '.', '0', '1', '-'], 3);
    for checkpoint in &checkpoints {
        for n in [0, 1, 10, usize::MAX] {
            let name = branch(checkpoint, n);
            assert_eq!(ordinal(&name, checkpoint), Some(n));
            for other in checkpoints.iter().filter(|o| *o != checkpoint) {
                assert_eq!(ordinal(&name, other), None, "{name} at {other}");
            }
        }
    }
}
