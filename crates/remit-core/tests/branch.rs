//! Forks: ordinals without gaps, one per token. Every sequence of up to five forks at two checkpoints.
mod common;

use common::sequences;
use remit_core::branch::{empty, Ordinal};

type Asked = (u64, Option<u64>);

const FORKS: [Asked; 6] = [
    (1, None),
    (1, Some(7)),
    (1, Some(8)),
    (2, None),
    (2, Some(7)),
    (2, Some(8)),
];

#[test]
fn ordinals_have_no_gaps_and_a_token_names_one_branch() {
    for forks in sequences(&FORKS, 5) {
        let mut made = empty();
        let mut known: Vec<(Asked, usize)> = Vec::new();
        for asked in &forks {
            let (checkpoint, token) = *asked;
            let before = known.iter().filter(|((c, _), _)| *c == checkpoint).count();
            let named = known.iter().find(|(k, _)| token.is_some() && k == asked);
            let expected = match named {
                Some((_, ordinal)) => Ordinal::Known(*ordinal),
                None => Ordinal::Fresh(before),
            };
            assert_eq!(made.fork(checkpoint, token), expected, "{forks:?}");
            if named.is_none() {
                known.push((*asked, before));
            }
            assert_eq!(made.entries.len(), known.len());
        }
    }
}

#[test]
fn a_fork_without_a_name_is_always_a_new_branch() {
    for forks in sequences(&FORKS, 4) {
        let mut made = empty();
        for (checkpoint, token) in &forks {
            made.fork(*checkpoint, *token);
        }
        let next = made.next(1);
        assert_eq!(made.fork(1, None), Ordinal::Fresh(next));
        assert_eq!(made.fork(1, None), Ordinal::Fresh(next + 1));
    }
}
