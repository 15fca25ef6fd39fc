//! Row ids: every string of up to five of the characters that mean something.
mod common;

use common::sequences;
use remit_core::ids::{branch, format, ordinal, parse, Row};

fn strings(alphabet: &[char], most: usize) -> Vec<String> {
    sequences(alphabet, most)
        .iter()
        .map(|s| s.iter().collect())
        .collect()
}

fn put_together(row: &Row) -> String {
    format(&row.task, row.branch.as_deref(), row.waits_for, row.asks)
}

#[test]
fn every_string_is_taken_apart_and_put_together() {
    for id in strings(&['t', '|', 'f', 'a', 'q', '0', '1', '+', 'é'], 5) {
        let row = parse(&id);
        assert_eq!(parse(&put_together(&row)), row, "{id}");
        let ours = row.branch.is_some() || row.waits_for.is_some() || row.asks;
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
    for id in strings(&['t', '|', 'f', 'a', 'q', '0', '1', '+', 'é'], 5) {
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
            for (waits_for, asks) in [
                (None, false),
                (None, true),
                (Some(0), false),
                (Some(9), false),
                (Some(usize::MAX), false),
            ] {
                let row = Row {
                    task: task.clone(),
                    branch: of.map(str::to_string),
                    waits_for,
                    asks,
                };
                assert_eq!(parse(&put_together(&row)), row);
            }
        }
    }
}

#[test]
fn rows_of_different_things_have_different_ids() {
    let mut seen = std::collections::BTreeMap::new();
    for task in ["t", "u", ""] {
        for of in [None, Some("c.0"), Some("c.1"), Some("")] {
            for (waits_for, asks) in [
                (None, false),
                (None, true),
                (Some(0), false),
                (Some(1), false),
            ] {
                let id = format(task, of, waits_for, asks);
                let other = seen.insert(id.clone(), (task, of, waits_for, asks));
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
