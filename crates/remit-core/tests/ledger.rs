//! The ledger: every sequence of up to four admissions of eight effects.
mod common;

use common::sequences;
use remit_core::ledger::{empty, Duplicate, Record};

fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for branch in 0..2 {
        for task in 0..2 {
            for effect in 0..2 {
                all.push(Record {
                    branch,
                    task,
                    effect,
                });
            }
        }
    }
    all
}

#[test]
fn an_effect_is_admitted_once_and_the_ledger_only_grows() {
    for asked in sequences(&records(), 4) {
        let mut ledger = empty();
        let mut known: Vec<Record> = Vec::new();
        for r in &asked {
            let expected = match known.iter().position(|k| k == r) {
                Some(seq) => Err(Duplicate { seq }),
                None => {
                    known.push(*r);
                    Ok(known.len() - 1)
                }
            };
            assert_eq!(
                ledger.admit(r.branch, r.task, r.effect),
                expected,
                "{asked:?}"
            );
            assert_eq!(ledger.records, known);
            assert!(ledger.find(r.branch, r.task, r.effect).is_some());
        }
    }
}

#[test]
fn what_differs_in_branch_task_or_effect_is_admitted() {
    for first in records() {
        for second in records() {
            let mut ledger = empty();
            assert_eq!(ledger.find(first.branch, first.task, first.effect), None);
            assert_eq!(ledger.admit(first.branch, first.task, first.effect), Ok(0));
            let got = ledger.admit(second.branch, second.task, second.effect);
            assert_eq!(got.is_ok(), first != second);
        }
    }
}
