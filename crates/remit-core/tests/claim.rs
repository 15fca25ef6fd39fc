//! The claim: every input to every claim over two owners, fences up to 3 and times up to 4, and at both ends of the
//! integers; every sequence of up to five acts of two runs and a clock; longer ones from seeds.
mod common;

use common::{for_seeds, sequences, Draw, BOTH};
use remit_core::claim::{
    decide, fresh, lease_end, standing, word, Claim, Fate, Input, Standing, State, Verdict, Why,
};

const OWNERS: [u64; 2] = [7, 8];
const FENCES: [u64; 6] = [0, 1, 2, 3, u64::MAX - 1, u64::MAX];
const TIMES: [u64; 7] = [0, 1, 2, 3, 4, u64::MAX - 1, u64::MAX];
const WHYS: [Why; 4] = [Why::ParkedAgain, Why::Failed, Why::Abandoned, Why::ByPerson];

/// Every claim that `decide` can reach, and as many that it cannot: the core is total.
fn claims() -> Vec<Claim> {
    let mut all = Vec::new();
    for last in FENCES {
        let mut states = vec![State::Free];
        for fence in FENCES {
            states.push(State::Consumed { fence });
            for owner in OWNERS {
                for lease_end in TIMES {
                    states.push(State::Held {
                        owner,
                        fence,
                        lease_end,
                    });
                }
            }
        }
        all.extend(states.into_iter().map(|state| Claim { state, last }));
    }
    all
}

/// Is it one that `decide` can reach?
fn is_well_formed(claim: Claim) -> bool {
    match claim.state {
        State::Free => true,
        State::Held { fence, .. } | State::Consumed { fence } => fence == claim.last && fence >= 1,
    }
}

/// The words that name a grant.
fn words(owner: u64, fence: u64) -> Vec<Input> {
    let mut all = vec![
        Input::Consume { owner, fence },
        Input::DeclareDead { owner, fence },
    ];
    all.extend(WHYS.map(|why| Input::Release { owner, fence, why }));
    for now in TIMES {
        for lease in TIMES {
            all.push(Input::Renew {
                owner,
                fence,
                now,
                lease,
            });
        }
    }
    all
}

fn acquisitions() -> Vec<Input> {
    let mut all = Vec::new();
    for owner in OWNERS {
        for now in TIMES {
            for lease in TIMES {
                all.push(Input::Acquire { owner, now, lease });
            }
        }
    }
    all
}

fn holder(claim: Claim) -> Option<(u64, u64)> {
    match claim.state {
        State::Held { owner, fence, .. } => Some((owner, fence)),
        _ => None,
    }
}

fn is_granted(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Granted { .. })
}

#[test]
fn it_is_granted_when_free_or_when_the_lease_has_run_out_and_never_otherwise() {
    for claim in claims() {
        for input in acquisitions() {
            let Input::Acquire { owner, now, lease } = input else {
                continue;
            };
            let end = now.saturating_add(lease);
            let granted = (
                Claim {
                    state: State::Held {
                        owner,
                        fence: claim.last.wrapping_add(1),
                        lease_end: end,
                    },
                    last: claim.last.wrapping_add(1),
                },
                Verdict::Granted {
                    fence: claim.last.wrapping_add(1),
                    lease_end: end,
                },
            );
            let used_up = (claim, Verdict::Illegal);
            let grant = if claim.last == u64::MAX {
                used_up
            } else {
                granted
            };
            let expected = match claim.state {
                State::Free => grant,
                State::Held { lease_end, .. } if now >= lease_end => grant,
                State::Held {
                    owner: holder,
                    fence,
                    lease_end,
                } => {
                    let refused = Verdict::Refused {
                        holder,
                        fence,
                        lease_end,
                    };
                    (claim, refused)
                }
                State::Consumed { fence } => (claim, Verdict::AlreadyConsumed { fence }),
            };
            assert_eq!(decide(claim, input), expected, "{claim:?} {input:?}");
            assert_eq!(lease_end(now, lease), end);
        }
    }
}

#[test]
fn the_holders_words_do_what_they_say() {
    for claim in claims() {
        let Some((owner, fence)) = holder(claim) else {
            continue;
        };
        assert_eq!(standing(claim, owner, fence), Standing::Current);
        for input in words(owner, fence) {
            let (then, verdict) = decide(claim, input);
            assert_eq!(then.last, claim.last, "no grant");
            match (input, claim.state, then.state) {
                (Input::Consume { .. }, _, state) => {
                    assert_eq!(state, State::Consumed { fence });
                    assert_eq!(verdict, Verdict::Accepted);
                }
                (Input::Release { .. } | Input::DeclareDead { .. }, _, state) => {
                    assert_eq!(state, State::Free);
                    assert_eq!(verdict, Verdict::Accepted);
                }
                (
                    Input::Renew { now, lease, .. },
                    State::Held { lease_end: old, .. },
                    State::Held { lease_end, .. },
                ) => {
                    assert_eq!(holder(then), Some((owner, fence)));
                    assert_eq!(lease_end, old.max(now.saturating_add(lease)));
                    assert_eq!(verdict, Verdict::Renewed { lease_end });
                }
                other => assert_eq!(holder(then), Some((owner, fence)), "{other:?}"),
            }
        }
    }
}

#[test]
fn who_does_not_hold_it_changes_nothing_and_is_told_where_it_stands() {
    for claim in claims() {
        for owner in OWNERS {
            for fence in FENCES {
                if holder(claim) == Some((owner, fence)) {
                    continue;
                }
                let granted = (1..=claim.last).contains(&fence);
                let current = holder(claim).map(|(_, fence)| fence);
                let (expected, where_it_stands) = match claim.state {
                    State::Consumed { fence } => (
                        Verdict::AlreadyConsumed { fence },
                        Standing::Settled { fence },
                    ),
                    _ if granted && current != Some(fence) => (Verdict::Stale, Standing::Over),
                    _ => (Verdict::Illegal, Standing::Unknown),
                };
                assert_eq!(standing(claim, owner, fence), where_it_stands);
                for input in words(owner, fence) {
                    assert_eq!(
                        decide(claim, input),
                        (claim, expected),
                        "{claim:?} {input:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_well_formed_stays_so_and_the_fence_moves_on_a_grant_only() {
    let mut inputs = acquisitions();
    for owner in OWNERS {
        for fence in FENCES {
            inputs.extend(words(owner, fence));
        }
    }
    for claim in claims().into_iter().filter(|c| is_well_formed(*c)) {
        for input in &inputs {
            let (then, verdict) = decide(claim, *input);
            assert!(is_well_formed(then), "{claim:?} {input:?}");
            assert_eq!(then.last - claim.last, u64::from(is_granted(verdict)));
            if let State::Consumed { fence } = claim.state {
                assert_eq!((then, verdict), (claim, Verdict::AlreadyConsumed { fence }));
            }
        }
    }
}

#[test]
fn what_is_not_consumed_can_be_had_and_consumed() {
    let fences_left = |c: &Claim| c.last < u64::MAX;
    for claim in claims()
        .into_iter()
        .filter(|c| is_well_formed(*c))
        .filter(fences_left)
    {
        let mut free = Vec::new(); // every way to free it, and the time from which it may be had
        match claim.state {
            State::Consumed { .. } => continue,
            State::Free => free.push((claim, 0)),
            State::Held {
                owner,
                fence,
                lease_end,
            } => {
                free.push((claim, lease_end));
                free.push((decide(claim, Input::DeclareDead { owner, fence }).0, 0));
                free.extend(
                    WHYS.map(|why| (decide(claim, Input::Release { owner, fence, why }).0, 0)),
                );
            }
        }
        for (free, now) in free {
            let (held, verdict) = decide(
                free,
                Input::Acquire {
                    owner: 9,
                    now,
                    lease: 1,
                },
            );
            assert!(is_granted(verdict), "{free:?}");
            let consume = Input::Consume {
                owner: 9,
                fence: held.last,
            };
            let (consumed, verdict) = decide(held, consume);
            assert_eq!(verdict, Verdict::Accepted);
            assert_eq!(consumed.state, State::Consumed { fence: held.last });
        }
    }
}

#[test]
fn the_runs_fate_says_the_word() {
    for owner in OWNERS {
        for fence in FENCES {
            let consume = Input::Consume { owner, fence };
            let release = |why| Input::Release { owner, fence, why };
            let expected = [
                (Fate::Put, consume),
                (Fate::ParkedAgain { answered: true }, consume),
                (
                    Fate::ParkedAgain { answered: false },
                    release(Why::ParkedAgain),
                ),
                (Fate::Failed, release(Why::Failed)),
                (Fate::Gone, release(Why::Abandoned)),
            ];
            for (fate, input) in expected {
                assert_eq!(word(owner, fence, fate), input);
            }
        }
    }
}

/// What is done to one claim: by a run that believes that it holds it, or for it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    /// A run asks for it. `late`: with the time that it read before the clock moved.
    Ask {
        run: usize,
        late: bool,
    },
    /// A run that was granted it lives, or ends.
    Renew {
        run: usize,
    },
    Settle {
        run: usize,
        fate: Fate,
    },
    /// A person declares the holder dead, or a run that is not.
    DeclareDead {
        run: usize,
    },
    /// The clock moves past one lease.
    Tick,
}

const LEASE: u64 = 2;

/// Does what was done, and keeps the history by itself.
fn play(acts: &[Act]) {
    let mut claim = fresh();
    let mut clock: u64 = 0;
    let mut beliefs: [Option<u64>; 2] = [None; 2]; // the last fence that each run was granted
    let mut fences: Vec<u64> = Vec::new();
    let mut consumptions: Vec<u64> = Vec::new();
    for act in acts {
        let before = claim;
        let named = |run: usize| (OWNERS[run], beliefs[run].unwrap_or(0));
        let (run, input) = match *act {
            Act::Tick => {
                clock += LEASE;
                continue;
            }
            Act::Ask { run, late } => {
                let now = if late {
                    clock.saturating_sub(LEASE)
                } else {
                    clock
                };
                let owner = OWNERS[run];
                (
                    run,
                    Input::Acquire {
                        owner,
                        now,
                        lease: LEASE,
                    },
                )
            }
            Act::Renew { run } => {
                let (owner, fence) = named(run);
                let renew = Input::Renew {
                    owner,
                    fence,
                    now: clock,
                    lease: LEASE,
                };
                (run, renew)
            }
            Act::Settle { run, fate } => (run, word(named(run).0, named(run).1, fate)),
            Act::DeclareDead { run } => {
                let (owner, fence) = named(run);
                (run, Input::DeclareDead { owner, fence })
            }
        };
        let (then, verdict) = decide(claim, input);
        claim = then;
        match verdict {
            Verdict::Granted { fence, lease_end } => {
                assert!(fences.iter().all(|f| *f < fence), "{acts:?}");
                assert!(consumptions.is_empty(), "granted after it was taken");
                if let State::Held { lease_end, .. } = before.state {
                    assert!(clock >= lease_end, "a live lease was taken: {acts:?}");
                }
                assert!(lease_end <= clock + LEASE, "longer than it was asked for");
                fences.push(fence);
                beliefs[run] = Some(fence);
            }
            Verdict::Accepted => {
                assert_eq!(fences.last().copied(), beliefs[run], "an old grant spoke");
                if let Input::Consume { fence, .. } = input {
                    consumptions.push(fence);
                }
            }
            Verdict::Renewed { .. } => assert_eq!(fences.last().copied(), beliefs[run]),
            Verdict::Refused { .. }
            | Verdict::Stale
            | Verdict::AlreadyConsumed { .. }
            | Verdict::Illegal => assert_eq!(claim, before, "a refusal changed it: {acts:?}"),
        }
        assert!(consumptions.len() <= 1, "taken twice: {acts:?}");
        assert_eq!(
            matches!(claim.state, State::Consumed { .. }),
            !consumptions.is_empty()
        );
    }
    // never stuck: a run that comes once the lease is over has it
    let now = clock + LEASE;
    let ask = Input::Acquire {
        owner: 9,
        now,
        lease: LEASE,
    };
    assert_eq!(
        is_granted(decide(claim, ask).1),
        consumptions.is_empty(),
        "{acts:?}"
    );
}

fn acts(fates: &[Fate]) -> Vec<Act> {
    let mut all = vec![Act::Tick];
    for run in 0..OWNERS.len() {
        all.extend(BOTH.map(|late| Act::Ask { run, late }));
        all.push(Act::Renew { run });
        all.push(Act::DeclareDead { run });
        all.extend(fates.iter().map(|fate| Act::Settle { run, fate: *fate }));
    }
    all
}

#[test]
fn whatever_two_runs_do_it_is_taken_once_and_never_lost() {
    // one fate that consumes and one that frees: what the others do is the same, as the fates' own test says
    for acts in sequences(&acts(&[Fate::Put, Fate::Failed]), 5) {
        play(&acts);
    }
}

#[test]
fn long_histories_keep_the_claim() {
    let freeing = acts(&[
        Fate::ParkedAgain { answered: false },
        Fate::Failed,
        Fate::Gone,
    ]);
    let all = acts(&[Fate::Put, Fate::ParkedAgain { answered: true }]);
    for_seeds(2_000, |draw: &mut Draw| {
        let mut acts: Vec<Act> = (0..40).map(|_| draw.of(&freeing)).collect();
        acts.extend((0..20).map(|_| draw.of(&all)));
        play(&acts);
    });
}
