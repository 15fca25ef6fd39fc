//! The specifications of `proof/`, read aloud: every specification function that a shipped function's contract names is
//! here under its own name, word for word and without regard for speed, and each contract is checked over all inputs of
//! a small world. The states are arbitrary: also those that the core itself never makes.
mod common;

use common::{sequences, BOTH};

/// Arithmetic of specifications has no bounds.
fn int(n: usize) -> i128 {
    n as i128
}

mod ledger {
    use super::*;
    use remit_core::ledger::{empty, Ledger, Record};

    fn matches(r: Record, branch: u64, task: u64, effect: u64) -> bool {
        r.branch == branch && r.task == task && r.effect == effect
    }

    fn count(log: &[Record], branch: u64, task: u64, effect: u64) -> usize {
        match log.split_last() {
            None => 0,
            Some((last, rest)) => {
                count(rest, branch, task, effect)
                    + usize::from(matches(*last, branch, task, effect))
            }
        }
    }

    fn unique(log: &[Record]) -> bool {
        effects()
            .iter()
            .all(|r| count(log, r.branch, r.task, r.effect) <= 1)
    }

    fn admitted(old: &[Record], new: &[Record], seq: usize, r: Record) -> bool {
        seq == old.len()
            && new == [old, &[r]].concat()
            && count(new, r.branch, r.task, r.effect) == 1
            && effects().iter().filter(|o| **o != r).all(|o| {
                count(new, o.branch, o.task, o.effect) == count(old, o.branch, o.task, o.effect)
            })
    }

    fn admit_spec(log: &[Record], r: Record) -> Vec<Record> {
        if count(log, r.branch, r.task, r.effect) == 0 {
            [log, &[r]].concat()
        } else {
            log.to_vec()
        }
    }

    fn effects() -> Vec<Record> {
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
    fn it_keeps_its_contracts() {
        assert!(empty().records.is_empty() && unique(&empty().records));
        for log in sequences(&effects(), 3) {
            for r in effects() {
                let mut ledger = Ledger {
                    records: log.clone(),
                };
                let found = ledger.find(r.branch, r.task, r.effect);
                assert!(match found {
                    Some(seq) =>
                        seq < log.len()
                            && matches(log[seq], r.branch, r.task, r.effect)
                            && count(&log[..seq], r.branch, r.task, r.effect) == 0,
                    None => count(&log, r.branch, r.task, r.effect) == 0,
                });
                let ret = ledger.admit(r.branch, r.task, r.effect);
                let new = &ledger.records;
                assert!(
                    match ret {
                        Ok(seq) => admitted(&log, new, seq, r),
                        Err(d) =>
                            *new == log
                                && d.seq < log.len()
                                && matches(log[d.seq], r.branch, r.task, r.effect),
                    },
                    "{log:?} {r:?} {ret:?}"
                );
                assert_eq!(ret.is_ok(), count(&log, r.branch, r.task, r.effect) == 0);
                assert_eq!(*new, admit_spec(&log, r));
                assert!(!unique(&log) || unique(new));
                assert!(new.starts_with(&log));
            }
        }
    }
}

mod commit {
    use super::*;
    use remit_core::commit::{empty, Plane, Refusal};

    fn no_duplicates(log: &[u64]) -> bool {
        (0..log.len()).all(|i| (0..i).all(|j| log[i] != log[j]))
    }

    fn well_formed(p: &Plane) -> bool {
        p.frontier == p.log.len() && no_duplicates(&p.log)
    }

    fn accepts(p: &Plane, task: u64, valid: bool) -> bool {
        valid && p.frontier == p.log.len() && !p.log.contains(&task)
    }

    fn commit_log(p: &Plane, task: u64, valid: bool) -> Vec<u64> {
        if accepts(p, task, valid) {
            [&p.log[..], &[task]].concat()
        } else {
            p.log.clone()
        }
    }

    fn commit_frontier(p: &Plane, task: u64, valid: bool) -> i128 {
        int(p.frontier) + i128::from(accepts(p, task, valid))
    }

    fn first_step(log: &[u64], task: u64, step: usize) -> bool {
        step < log.len() && log[step] == task && (0..step).all(|j| log[j] != task)
    }

    fn outcome(p: &Plane, task: u64, valid: bool, ret: Result<usize, Refusal>) -> bool {
        if !valid {
            ret == Err(Refusal::Invalid)
        } else if p.frontier != p.log.len() {
            ret == Err(Refusal::Diverged {
                frontier: p.frontier,
                log: p.log.len(),
            })
        } else if p.log.contains(&task) {
            matches!(ret, Err(Refusal::Durable { step }) if first_step(&p.log, task, step))
        } else {
            ret == Ok(p.frontier)
        }
    }

    #[test]
    fn it_keeps_its_contracts() {
        assert!(well_formed(&empty()) && empty().log.is_empty());
        for log in sequences(&[1, 2, 3], 4) {
            for frontier in [0, 1, 2, 3, 4, 5, usize::MAX] {
                for (task, valid) in (1..=3).flat_map(|t| BOTH.map(|valid| (t, valid))) {
                    let old = Plane {
                        log: log.clone(),
                        frontier,
                    };
                    let mut new = Plane {
                        log: log.clone(),
                        frontier,
                    };
                    assert!(match old.step_of(task) {
                        Some(step) => first_step(&log, task, step),
                        None => !log.contains(&task),
                    });
                    let ret = new.commit(task, valid);
                    assert!(
                        outcome(&old, task, valid, ret),
                        "{old:?} {task} {valid} {ret:?}"
                    );
                    assert_eq!(new.log, commit_log(&old, task, valid));
                    assert_eq!(int(new.frontier), commit_frontier(&old, task, valid));
                    if ret.is_ok() {
                        assert!(valid && new.frontier == frontier + 1 && ret == Ok(frontier));
                        assert!(new.log == [&log[..], &[task]].concat() && !log.contains(&task));
                    } else {
                        assert_eq!(new, old);
                    }
                    if well_formed(&old) {
                        assert!(well_formed(&new));
                        assert_eq!(ret.is_ok(), valid && !log.contains(&task));
                    }
                    assert!(new.log.starts_with(&log));
                }
            }
        }
    }
}

mod branch {
    use super::*;
    use remit_core::branch::{empty, Fork, Forks, Ordinal};

    fn forks_of(s: &[Fork], c: u64) -> usize {
        match s.split_last() {
            None => 0,
            Some((last, rest)) => forks_of(rest, c) + usize::from(last.checkpoint == c),
        }
    }

    fn carries(f: Fork, c: u64, t: u64) -> bool {
        f.checkpoint == c && f.token == Some(t)
    }

    fn used(s: &[Fork], c: u64, t: u64) -> bool {
        s.iter().any(|f| carries(*f, c, t))
    }

    fn names(s: &[Fork], c: u64, t: u64, o: usize) -> bool {
        s.iter().any(|f| carries(*f, c, t) && f.ordinal == o)
    }

    fn ordinal_of(o: Ordinal) -> usize {
        match o {
            Ordinal::Known(n) | Ordinal::Fresh(n) => n,
        }
    }

    fn well_formed(s: &[Fork]) -> bool {
        (0..s.len()).all(|i| s[i].ordinal == forks_of(&s[..i], s[i].checkpoint))
            && (0..s.len()).all(|j| {
                (0..j).all(|i| {
                    s[i].checkpoint != s[j].checkpoint
                        || s[i].token.is_none()
                        || s[i].token != s[j].token
                })
            })
    }

    fn tables() -> Vec<Vec<Fork>> {
        let mut entries = Vec::new();
        for checkpoint in [1, 2] {
            for ordinal in 0..3 {
                for token in [None, Some(7), Some(8)] {
                    entries.push(Fork {
                        checkpoint,
                        ordinal,
                        token,
                    });
                }
            }
        }
        sequences(&entries, 3)
    }

    #[test]
    fn it_keeps_its_contracts() {
        assert!(empty().entries.is_empty() && well_formed(&empty().entries));
        let mut seen = [0, 0];
        for s in tables() {
            seen[usize::from(well_formed(&s))] += 1;
            for (c, token) in [1, 2]
                .into_iter()
                .flat_map(|c| [None, Some(7), Some(8)].map(|t| (c, t)))
            {
                let mut forks = Forks { entries: s.clone() };
                assert_eq!(forks.next(c), forks_of(&s, c));
                for t in [7, 8] {
                    assert!(match forks.find(c, t) {
                        Some(o) => names(&s, c, t, o),
                        None => !used(&s, c, t),
                    });
                }
                let ret = forks.fork(c, token);
                let new = &forks.entries;
                assert!(
                    match ret {
                        Ordinal::Known(o) => *new == s && token.is_some_and(|t| names(&s, c, t, o)),
                        Ordinal::Fresh(ordinal) => {
                            let fork = Fork {
                                checkpoint: c,
                                ordinal,
                                token,
                            };
                            ordinal == forks_of(&s, c)
                                && *new == [&s[..], &[fork]].concat()
                                && token.is_none_or(|t| !used(&s, c, t))
                        }
                    },
                    "{s:?} {c} {token:?} {ret:?}"
                );
                if well_formed(&s) {
                    assert!(well_formed(new));
                    assert!(token.is_none_or(|t| names(new, c, t, ordinal_of(ret))));
                }
                assert!(new.starts_with(&s));
            }
        }
        // both kinds of table occur
        assert_eq!(seen, [5984, 191]);
    }
}

mod recovery {
    use super::*;
    use remit_core::recovery::{is_recorded, plan, Decision, Record};

    fn recorded(log: &[Record], task: u64) -> bool {
        log.iter().any(|r| r.task == task)
    }

    fn decide(log: &[Record], task: u64) -> Decision {
        if recorded(log, task) {
            Decision::Skip
        } else {
            Decision::Run
        }
    }

    fn plan_spec(log: &[Record], tasks: &[u64]) -> Vec<Decision> {
        (0..tasks.len()).map(|i| decide(log, tasks[i])).collect()
    }

    #[test]
    fn it_keeps_its_contracts() {
        let records: Vec<Record> = [0, 1]
            .into_iter()
            .flat_map(|place| [1, 2, 3].map(|task| Record { place, task }))
            .collect();
        for log in sequences(&records, 4) {
            for task in 1..=4 {
                assert_eq!(is_recorded(&log, task), recorded(&log, task));
            }
            for tasks in sequences(&[1, 2, 3], 3) {
                assert_eq!(
                    plan(&log, &tasks),
                    plan_spec(&log, &tasks),
                    "{log:?} {tasks:?}"
                );
            }
        }
    }
}

mod view {
    use super::*;
    use remit_core::view::{
        answers, asked, failed, is_reached, is_reanswered, show_null, show_task, view, waits,
        Class, Intent, Question, Show, Slot, Write,
    };

    pub const INTENTS: [Intent; 6] = [
        Intent::Inspect,
        Intent::Fork,
        Intent::Retry,
        Intent::Answer,
        Intent::NewInput,
        Intent::Unknown,
    ];
    const COUNTS: [usize; 5] = [0, 1, 2, 3, usize::MAX];

    fn answers_open(asked: Option<usize>, failed: bool, answers: usize) -> bool {
        match asked {
            Some(nth) => int(answers) == int(nth) + 1,
            None => failed && answers >= 1,
        }
    }

    fn reaches(asked: Option<usize>, answers: usize) -> bool {
        match asked {
            Some(nth) => answers >= nth,
            None => false,
        }
    }

    fn rule_last(
        replaced: bool,
        waits: Option<usize>,
        asked: Option<usize>,
        failed: bool,
        answers: usize,
    ) -> Show {
        let stale = waits.is_some() && answers_open(waits, false, answers);
        if stale || (replaced && answers_open(asked, failed, answers)) {
            if answers == 1 {
                Show::Hide
            } else {
                Show::AllButLast
            }
        } else {
            Show::Keep
        }
    }

    fn rule_task(
        intent: Intent,
        named: bool,
        waits: Option<usize>,
        asked: Option<usize>,
        failed: bool,
        answers: usize,
    ) -> Show {
        match intent {
            Intent::Inspect => Show::Keep,
            Intent::Fork | Intent::NewInput => Show::Hide,
            Intent::Retry => rule_last(false, waits, asked, failed, answers),
            Intent::Answer => rule_last(named, waits, asked, failed, answers),
            Intent::Unknown => rule_last(true, waits, asked, failed, answers),
        }
    }

    fn rule_null(
        intent: Intent,
        alone: bool,
        about: Option<Question>,
        asked: Option<usize>,
        answers: usize,
    ) -> Show {
        let open = about.is_some_and(|q| asked == Some(q.nth) && answers >= q.nth);
        match intent {
            Intent::Inspect => Show::Keep,
            Intent::Retry if alone && open => Show::Keep,
            _ => Show::Hide,
        }
    }

    fn in_slot(slot: Slot, task: u32) -> bool {
        slot == Slot::Task(task)
    }

    fn asks_at(w: Write, task: u32) -> bool {
        w.class == Class::Interrupt && in_slot(w.slot, task) && w.about.is_some()
    }

    fn fails(w: Write, task: u32) -> bool {
        w.class == Class::Error && in_slot(w.slot, task)
    }

    fn waits_at(w: Write, task: u32) -> bool {
        w.class == Class::Resume && w.slot == Slot::Null && w.about.is_some_and(|q| q.task == task)
    }

    /// The last write of which something holds, as the recursive definitions find it.
    fn last(ws: &[Write], holds: impl Fn(Write) -> bool) -> Option<Write> {
        let (w, rest) = ws.split_last()?;
        if holds(*w) {
            Some(*w)
        } else {
            last(rest, &holds as &dyn Fn(Write) -> bool)
        }
    }

    fn asked_in(ws: &[Write], task: u32) -> Option<usize> {
        last(ws, |w| asks_at(w, task))?.about.map(|q| q.nth)
    }

    fn failed_in(ws: &[Write], task: u32) -> bool {
        ws.iter().any(|w| fails(*w, task))
    }

    fn waits_in(ws: &[Write], task: u32) -> Option<usize> {
        last(ws, |w| waits_at(w, task))?.about.map(|q| q.nth)
    }

    fn answers_in(ws: &[Write], task: u32) -> usize {
        last(ws, |w| w.class == Class::Resume && in_slot(w.slot, task)).map_or(0, |w| w.answers)
    }

    fn show_at(ws: &[Write], intent: Intent, answered: &[u32], alone: bool, i: usize) -> Show {
        let w = ws[i];
        match (w.class, w.slot) {
            (Class::Resume, Slot::Null) => rule_null(
                intent,
                alone,
                w.about,
                w.about.and_then(|q| asked_in(ws, q.task)),
                w.about.map_or(0, |q| answers_in(ws, q.task)),
            ),
            (Class::Resume, Slot::Task(t)) => rule_task(
                intent,
                answered.contains(&t),
                waits_in(ws, t),
                asked_in(ws, t),
                failed_in(ws, t),
                w.answers,
            ),
            _ => Show::Keep,
        }
    }

    fn view_spec(ws: &[Write], intent: Intent, answered: &[u32], alone: bool) -> Vec<Show> {
        (0..ws.len())
            .map(|i| show_at(ws, intent, answered, alone, i))
            .collect()
    }

    fn some_or_none() -> Vec<Option<usize>> {
        COUNTS.into_iter().map(Some).chain([None]).collect()
    }

    #[test]
    fn its_rules_keep_their_contracts() {
        for a in some_or_none() {
            for n in COUNTS {
                assert_eq!(is_reached(a, n), reaches(a, n));
                for f in BOTH {
                    assert_eq!(is_reanswered(a, f, n), answers_open(a, f, n));
                }
                for intent in INTENTS {
                    for (w, f) in some_or_none()
                        .into_iter()
                        .flat_map(|w| BOTH.map(|f| (w, f)))
                    {
                        for named in BOTH {
                            assert_eq!(
                                show_task(intent, named, w, a, f, n),
                                rule_task(intent, named, w, a, f, n),
                                "{intent:?} named={named} waits={w:?} asked={a:?} failed={f} answers={n}"
                            );
                        }
                    }
                    let abouts = some_or_none()
                        .into_iter()
                        .map(|nth| nth.map(|nth| Question { task: 1, nth }));
                    for about in abouts {
                        for alone in BOTH {
                            assert_eq!(
                                show_null(intent, alone, about, a, n),
                                rule_null(intent, alone, about, a, n),
                                "{intent:?} alone={alone} about={about:?} asked={a:?} answers={n}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Writes of every class in every slot, also such as LangGraph does not store.
    fn writes(abouts: &[Option<Question>], counts: &[usize], slots: &[Slot]) -> Vec<Write> {
        let mut all = Vec::new();
        for slot in slots {
            for class in [
                Class::Resume,
                Class::Interrupt,
                Class::Error,
                Class::Ordinary,
            ] {
                for answers in counts {
                    for about in abouts {
                        all.push(Write {
                            slot: *slot,
                            class,
                            answers: *answers,
                            about: *about,
                        });
                    }
                }
            }
        }
        all
    }

    fn check(batches: &[Vec<Write>]) {
        for ws in batches {
            for task in 0..3 {
                assert_eq!(asked(ws, task), asked_in(ws, task), "{ws:?}");
                assert_eq!(failed(ws, task), failed_in(ws, task), "{ws:?}");
                assert_eq!(waits(ws, task), waits_in(ws, task), "{ws:?}");
                assert_eq!(answers(ws, task), answers_in(ws, task), "{ws:?}");
            }
            for intent in INTENTS {
                for answered in [&[][..], &[0], &[1], &[0, 1]] {
                    for alone in BOTH {
                        assert_eq!(
                            view(ws, intent, answered, alone),
                            view_spec(ws, intent, answered, alone),
                            "{intent:?} {answered:?} alone={alone} {ws:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn it_keeps_its_contracts_on_two_tasks() {
        let about = |task, nth| Some(Question { task, nth });
        let slots = [Slot::Null, Slot::Task(0), Slot::Task(1)];
        let all = writes(&[None, about(0, 1), about(1, 0)], &[1, 2], &slots);
        check(&sequences(&all, 2));
    }

    #[test]
    fn it_keeps_its_contracts_on_three_writes_of_one_task() {
        let about = |nth| Some(Question { task: 0, nth });
        let slots = [Slot::Null, Slot::Task(0)];
        check(&sequences(
            &writes(&[None, about(0), about(1)], &[1], &slots),
            3,
        ));
    }
}

mod claim {
    use remit_core::claim::{
        decide, fresh, lease_end, standing, word, Claim, Fate, Input, Standing, State, Verdict, Why,
    };

    fn fresh_spec() -> Claim {
        Claim {
            state: State::Free,
            last: 0,
        }
    }

    fn lease_end_spec(now: u64, lease: u64) -> u64 {
        let end = u128::from(now) + u128::from(lease);
        u64::try_from(end).unwrap_or(u64::MAX)
    }

    fn standing_spec(c: Claim, owner: u64, fence: u64) -> Standing {
        let over = 1 <= fence && fence <= c.last;
        match c.state {
            State::Consumed { fence } => Standing::Settled { fence },
            State::Held {
                owner: o, fence: f, ..
            } if fence == f => {
                if owner == o {
                    Standing::Current
                } else {
                    Standing::Unknown
                }
            }
            State::Held { .. } | State::Free => {
                if over {
                    Standing::Over
                } else {
                    Standing::Unknown
                }
            }
        }
    }

    fn grantable(c: Claim, now: u64) -> bool {
        match c.state {
            State::Free => true,
            State::Held { lease_end, .. } => now >= lease_end,
            State::Consumed { .. } => false,
        }
    }

    fn refusal(s: Standing) -> Verdict {
        match s {
            Standing::Settled { fence } => Verdict::AlreadyConsumed { fence },
            Standing::Over => Verdict::Stale,
            Standing::Current | Standing::Unknown => Verdict::Illegal,
        }
    }

    fn next(c: Claim, i: Input) -> (Claim, Verdict) {
        let stands = |owner, fence| standing_spec(c, owner, fence);
        let becomes = |state, verdict| {
            (
                Claim {
                    state,
                    last: c.last,
                },
                verdict,
            )
        };
        match i {
            Input::Acquire { owner, now, lease } if grantable(c, now) => {
                if c.last == u64::MAX {
                    return (c, Verdict::Illegal);
                }
                let (fence, lease_end) = (c.last + 1, lease_end_spec(now, lease));
                let state = State::Held {
                    owner,
                    fence,
                    lease_end,
                };
                (
                    Claim { state, last: fence },
                    Verdict::Granted { fence, lease_end },
                )
            }
            Input::Acquire { .. } => match c.state {
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
                    (c, refused)
                }
                State::Consumed { fence } => (c, Verdict::AlreadyConsumed { fence }),
                State::Free => (c, Verdict::Illegal),
            },
            Input::Renew {
                owner,
                fence,
                now,
                lease,
            } => match (stands(owner, fence), c.state) {
                (
                    Standing::Current,
                    State::Held {
                        owner,
                        fence,
                        lease_end: old,
                    },
                ) => {
                    let lease_end = lease_end_spec(now, lease).max(old);
                    let state = State::Held {
                        owner,
                        fence,
                        lease_end,
                    };
                    becomes(state, Verdict::Renewed { lease_end })
                }
                (s, _) => (c, refusal(s)),
            },
            Input::Consume { owner, fence } => match stands(owner, fence) {
                Standing::Current => becomes(State::Consumed { fence }, Verdict::Accepted),
                s => (c, refusal(s)),
            },
            Input::Release { owner, fence, .. } | Input::DeclareDead { owner, fence } => {
                match stands(owner, fence) {
                    Standing::Current => becomes(State::Free, Verdict::Accepted),
                    s => (c, refusal(s)),
                }
            }
        }
    }

    fn word_spec(owner: u64, fence: u64, fate: Fate) -> Input {
        let release = |why| Input::Release { owner, fence, why };
        match fate {
            Fate::Put | Fate::ParkedAgain { answered: true } => Input::Consume { owner, fence },
            Fate::ParkedAgain { answered: false } => release(Why::ParkedAgain),
            Fate::Failed => release(Why::Failed),
            Fate::Gone => release(Why::Abandoned),
        }
    }

    const OWNERS: [u64; 2] = [7, 8];
    const NUMBERS: [u64; 5] = [0, 1, 2, u64::MAX - 1, u64::MAX];

    fn inputs() -> Vec<Input> {
        let mut all = Vec::new();
        for owner in OWNERS {
            for fence in NUMBERS {
                all.push(Input::Consume { owner, fence });
                all.push(Input::DeclareDead { owner, fence });
                for why in [Why::ParkedAgain, Why::Failed, Why::Abandoned, Why::ByPerson] {
                    all.push(Input::Release { owner, fence, why });
                }
            }
            for (now, lease) in NUMBERS.into_iter().flat_map(|n| NUMBERS.map(|l| (n, l))) {
                all.push(Input::Acquire { owner, now, lease });
                all.extend(NUMBERS.map(|fence| Input::Renew {
                    owner,
                    fence,
                    now,
                    lease,
                }));
            }
        }
        all
    }

    #[test]
    fn it_keeps_its_contracts() {
        assert_eq!(fresh(), fresh_spec());
        let mut claims = Vec::new();
        for last in NUMBERS {
            claims.push(Claim {
                state: State::Free,
                last,
            });
            for fence in NUMBERS {
                claims.push(Claim {
                    state: State::Consumed { fence },
                    last,
                });
                for (owner, lease_end) in
                    OWNERS.into_iter().flat_map(|o| NUMBERS.map(|end| (o, end)))
                {
                    let state = State::Held {
                        owner,
                        fence,
                        lease_end,
                    };
                    claims.push(Claim { state, last });
                }
            }
        }
        let inputs = inputs();
        for c in claims {
            for i in &inputs {
                assert_eq!(decide(c, *i), next(c, *i), "{c:?} {i:?}");
            }
            for (owner, fence) in OWNERS.into_iter().flat_map(|o| NUMBERS.map(|f| (o, f))) {
                assert_eq!(standing(c, owner, fence), standing_spec(c, owner, fence));
            }
        }
        for (a, b) in NUMBERS.into_iter().flat_map(|a| NUMBERS.map(|b| (a, b))) {
            assert_eq!(lease_end(a, b), lease_end_spec(a, b));
            for fate in [
                Fate::Put,
                Fate::ParkedAgain { answered: true },
                Fate::ParkedAgain { answered: false },
                Fate::Failed,
                Fate::Gone,
            ] {
                assert_eq!(word(a, b, fate), word_spec(a, b, fate));
            }
        }
    }
}

mod ending {
    use super::*;
    use remit_core::claim::Fate;
    use remit_core::ending::{fate, is_over, is_present, Outcome, Position};

    fn is_past(t: &Outcome) -> bool {
        t.answered && !t.failed
    }

    fn is_stuck(t: &Outcome) -> bool {
        t.failed || t.parked
    }

    fn fate_spec(ts: &[Outcome]) -> Fate {
        if ts.iter().any(is_past) {
            Fate::ParkedAgain { answered: true }
        } else if ts.iter().any(|t| t.failed) {
            Fate::Failed
        } else if ts.iter().any(|t| t.parked) {
            Fate::ParkedAgain { answered: false }
        } else {
            Fate::Gone
        }
    }

    fn is_over_spec(triggered: u64, ts: &[Outcome]) -> bool {
        triggered > 0 && int(ts.len()) >= i128::from(triggered) && ts.iter().any(is_stuck)
    }

    fn is_present_spec(fence: u64, p: Position) -> bool {
        fence == 1 && (p.is_new || (p.asks && p.tasks == 1 && p.is_untouched))
    }

    #[test]
    fn it_keeps_its_contracts() {
        let outcomes: Vec<Outcome> = sequences(&BOTH, 3)
            .into_iter()
            .filter(|f| f.len() == 3)
            .map(|f| Outcome {
                answered: f[0],
                failed: f[1],
                parked: f[2],
            })
            .collect();
        for ts in sequences(&outcomes, 4) {
            assert_eq!(fate(&ts), fate_spec(&ts), "{ts:?}");
            for triggered in [0, 1, 2, 3, 4, 5, u64::MAX] {
                let over = is_over(triggered, &ts);
                assert_eq!(over, is_over_spec(triggered, &ts), "{triggered} {ts:?}");
            }
        }
        for facts in sequences(&BOTH, 3).into_iter().filter(|f| f.len() == 3) {
            for tasks in [0, 1, 2, u64::MAX] {
                let p = Position {
                    is_new: facts[0],
                    asks: facts[1],
                    tasks,
                    is_untouched: facts[2],
                };
                for fence in [0, 1, 2, u64::MAX] {
                    assert_eq!(
                        is_present(fence, p),
                        is_present_spec(fence, p),
                        "{fence} {p:?}"
                    );
                }
            }
        }
    }
}

mod outputs {
    use super::*;
    use remit_core::outputs::{shows, Task};
    use remit_core::view::Intent;

    fn partial(t: Task) -> bool {
        t.failed && !t.handled && !t.marked
    }

    fn shows_spec(intent: Intent, t: Task) -> bool {
        match intent {
            Intent::Inspect => true,
            Intent::Fork => t.own || (!t.null && !t.asked && !t.answered && !partial(t)),
            _ => t.null || !partial(t),
        }
    }

    #[test]
    fn it_keeps_its_contracts() {
        for facts in sequences(&BOTH, 7).into_iter().filter(|f| f.len() == 7) {
            let t = Task {
                null: facts[0],
                own: facts[1],
                asked: facts[2],
                answered: facts[3],
                failed: facts[4],
                handled: facts[5],
                marked: facts[6],
            };
            for intent in super::view::INTENTS {
                assert_eq!(shows(intent, t), shows_spec(intent, t), "{intent:?} {t:?}");
            }
        }
    }
}

mod stray {
    use super::*;
    use remit_core::stray::{judge, Answer, Policy, Reason, Thread, Verdict};

    fn fault(thread: Thread, answer: Answer, named_only: bool) -> Option<Reason> {
        match (thread, answer) {
            (Thread::NoSuchCheckpoint, _) => Some(Reason::NoSuchCheckpoint),
            (Thread::Absent, _) => Some(Reason::NoThread),
            (Thread::Finished, _) => Some(Reason::NotWaiting),
            (_, Answer::Bare { takers, refused }) => {
                if named_only {
                    Some(Reason::Unnamed)
                } else if thread == Thread::Parked && takers > 1 && !refused {
                    Some(Reason::Ambiguous)
                } else {
                    None
                }
            }
            (_, Answer::Named { names, open }) => {
                if names == 0 {
                    Some(Reason::EmptyMap)
                } else if open == 0 {
                    Some(Reason::UnknownInterrupt)
                } else if open < names {
                    Some(Reason::SomeUnknown)
                } else {
                    None
                }
            }
        }
    }

    fn always_refused(reason: Reason) -> bool {
        reason == Reason::NoSuchCheckpoint || reason == Reason::Unnamed
    }

    fn judge_spec(thread: Thread, answer: Answer, named_only: bool, policy: Policy) -> Verdict {
        match fault(thread, answer, named_only) {
            None => Verdict::Accept,
            Some(reason) if always_refused(reason) => Verdict::Refuse(reason),
            Some(_) if policy == Policy::Ignore => Verdict::Accept,
            Some(reason) if policy == Policy::Warn && reason == Reason::NotWaiting => {
                Verdict::Report(reason)
            }
            Some(reason) => Verdict::Refuse(reason),
        }
    }

    #[test]
    fn it_keeps_its_contracts() {
        let mut answers = Vec::new();
        for n in [0, 1, 2, 3, usize::MAX] {
            answers.extend(BOTH.map(|refused| Answer::Bare { takers: n, refused }));
            answers.extend([0, 1, 2, 3, usize::MAX].map(|open| Answer::Named { names: n, open }));
        }
        for thread in [
            Thread::Absent,
            Thread::NoSuchCheckpoint,
            Thread::Finished,
            Thread::Parked,
            Thread::Unfinished,
            Thread::Unknown,
        ] {
            for answer in &answers {
                for named_only in BOTH {
                    for policy in [Policy::Warn, Policy::Raise, Policy::Ignore] {
                        assert_eq!(
                            judge(thread, *answer, named_only, policy),
                            judge_spec(thread, *answer, named_only, policy),
                            "{thread:?} {answer:?} named_only={named_only} {policy:?}"
                        );
                    }
                }
            }
        }
    }
}

mod answers {
    use super::*;
    use remit_core::answers::{binds_to, open_question, store, Batch, Storage};

    fn blurred(recorded: usize, marked: bool, failed: bool) -> bool {
        failed && !marked && recorded > 0
    }

    fn earlier(recorded: usize, marked: bool, failed: bool) -> usize {
        recorded - usize::from(blurred(recorded, marked, failed))
    }

    fn store_parked(given: Option<usize>, recorded: usize, failed: bool) -> Storage {
        let n = given.unwrap_or(0);
        Storage {
            keep: (given.is_some() || recorded > 0).then_some(n),
            restore: false,
            waits_for: None,
            marks: (failed || n > 0).then_some(n),
            drops_output: false,
        }
    }

    fn store_failed(given: Option<usize>, recorded: usize, marked: bool, failed: bool) -> Storage {
        let before = earlier(recorded, marked, failed);
        match given {
            Some(n) if n > before => Storage {
                keep: Some(n - 1),
                restore: false,
                waits_for: Some(n - 1),
                marks: None,
                drops_output: true,
            },
            _ if blurred(recorded, marked, failed) => Storage {
                keep: Some(before),
                restore: true,
                waits_for: Some(before),
                marks: None,
                drops_output: true,
            },
            _ => Storage {
                keep: given.map(|_| recorded),
                restore: true,
                waits_for: None,
                marks: (!marked).then_some(recorded),
                drops_output: true,
            },
        }
    }

    fn store_spec(
        batch: Batch,
        given: Option<usize>,
        recorded: usize,
        marked: bool,
        failed: bool,
    ) -> Storage {
        match batch {
            Batch::Parked => store_parked(given, recorded, failed),
            Batch::Failed => store_failed(given, recorded, marked, failed),
            Batch::Other => Storage {
                keep: given,
                restore: false,
                waits_for: None,
                marks: None,
                drops_output: false,
            },
        }
    }

    fn open_question_spec(
        parked: bool,
        failed: bool,
        marked: bool,
        recorded: usize,
    ) -> Option<usize> {
        (parked && (marked || !failed)).then_some(recorded)
    }

    fn binds_to_spec(
        parked: bool,
        failed: bool,
        marked: bool,
        recorded: usize,
    ) -> Option<(usize, bool)> {
        match open_question_spec(parked, failed, marked, recorded) {
            Some(open) => (recorded >= open).then_some((open, false)),
            None => (parked && failed && recorded > 0).then(|| (recorded - 1, true)),
        }
    }

    #[test]
    fn it_keeps_its_contracts() {
        for recorded in [0, 1, 2, 3, usize::MAX] {
            for (marked, failed) in BOTH.into_iter().flat_map(|m| BOTH.map(|f| (m, f))) {
                for given in [None, Some(0), Some(1), Some(2), Some(3), Some(usize::MAX)] {
                    for batch in [Batch::Parked, Batch::Failed, Batch::Other] {
                        assert_eq!(
                            store(batch, given, recorded, marked, failed),
                            store_spec(batch, given, recorded, marked, failed),
                            "{batch:?} {given:?} {recorded} marked={marked} failed={failed}"
                        );
                    }
                }
                for parked in BOTH {
                    assert_eq!(
                        open_question(parked, failed, marked, recorded),
                        open_question_spec(parked, failed, marked, recorded)
                    );
                    assert_eq!(
                        binds_to(parked, failed, marked, recorded),
                        binds_to_spec(parked, failed, marked, recorded)
                    );
                }
            }
        }
    }
}

mod effect {
    use super::*;
    use remit_core::effect::{
        decide, fresh, is_in_doubt, Doubt, Effect, Input, Owner, State, Verdict,
    };

    fn fresh_spec() -> Effect {
        Effect {
            state: State::Free,
            last: 0,
        }
    }

    fn in_doubt(e: Effect, owner: Owner, now: u64) -> bool {
        match (e.state, owner) {
            (State::Admitted { .. }, Owner::Gone) => true,
            (State::Admitted { until, .. }, Owner::Unknown) => now >= until,
            _ => false,
        }
    }

    fn open_at(e: Effect, fence: u64) -> bool {
        matches!(e.state, State::Admitted { fence: f, .. } if f == fence)
    }

    fn admit_spec(e: Effect, now: u64, lease: u64) -> (Effect, Verdict) {
        let Some(fence) = e.last.checked_add(1) else {
            return (e, Verdict::Illegal);
        };
        let until = now.saturating_add(lease);
        let state = State::Admitted { fence, until };
        (
            Effect { state, last: fence },
            Verdict::Fresh { fence, until },
        )
    }

    fn settle_spec(e: Effect, fence: u64, fired: bool) -> (Effect, Verdict) {
        let state = if fired {
            State::Done { fence }
        } else {
            State::Free
        };
        if open_at(e, fence) {
            (Effect { state, ..e }, Verdict::Accepted)
        } else if (1..=e.last).contains(&fence) {
            (e, Verdict::Stale)
        } else {
            (e, Verdict::Illegal)
        }
    }

    fn decide_spec(e: Effect, i: Input) -> (Effect, Verdict) {
        match i {
            Input::Admit {
                now,
                lease,
                holds,
                same,
                owner,
                doubt,
            } => match e.state {
                _ if !holds => (e, Verdict::Fenced),
                State::Free => admit_spec(e, now, lease),
                State::Admitted { fence, .. } | State::Done { fence } if !same => {
                    (e, Verdict::Mismatch { fence })
                }
                State::Done { fence } => (e, Verdict::Replay { fence }),
                State::Admitted { fence, .. } if !in_doubt(e, owner, now) => {
                    (e, Verdict::Racer { fence })
                }
                State::Admitted { fence, .. } if doubt == Doubt::Raise => {
                    (e, Verdict::InDoubt { fence })
                }
                State::Admitted { .. } => admit_spec(e, now, lease),
            },
            Input::Done { fence } => settle_spec(e, fence, true),
            Input::Release { fence } => settle_spec(e, fence, false),
            Input::Resolve {
                now, fence, owner, ..
            } if open_at(e, fence) && !in_doubt(e, owner, now) => (e, Verdict::Racer { fence }),
            Input::Resolve { fence, fired, .. } => settle_spec(e, fence, fired),
        }
    }

    const OWNERS: [Owner; 3] = [Owner::Alive, Owner::Gone, Owner::Unknown];
    const NUMBERS: [u64; 5] = [0, 1, 2, u64::MAX - 1, u64::MAX];

    fn inputs() -> Vec<Input> {
        let mut all = Vec::new();
        for (now, owner) in NUMBERS.into_iter().flat_map(|n| OWNERS.map(|o| (n, o))) {
            for lease in NUMBERS {
                for (holds, same) in BOTH.into_iter().flat_map(|h| BOTH.map(|s| (h, s))) {
                    all.extend([Doubt::Raise, Doubt::Retry].map(|doubt| Input::Admit {
                        now,
                        lease,
                        holds,
                        same,
                        owner,
                        doubt,
                    }));
                }
            }
            for fence in NUMBERS {
                all.extend(BOTH.map(|fired| Input::Resolve {
                    now,
                    fence,
                    owner,
                    fired,
                }));
            }
        }
        all.extend(NUMBERS.map(|fence| Input::Done { fence }));
        all.extend(NUMBERS.map(|fence| Input::Release { fence }));
        all
    }

    #[test]
    fn it_keeps_its_contracts() {
        assert_eq!(fresh(), fresh_spec());
        let mut states = vec![State::Free];
        for fence in NUMBERS {
            states.push(State::Done { fence });
            states.extend(NUMBERS.map(|until| State::Admitted { fence, until }));
        }
        for (state, last) in states
            .into_iter()
            .flat_map(|s| NUMBERS.map(|last| (s, last)))
        {
            let e = Effect { state, last };
            for i in inputs() {
                assert_eq!(decide(e, i), decide_spec(e, i), "{e:?} {i:?}");
            }
            for (now, owner) in NUMBERS.into_iter().flat_map(|n| OWNERS.map(|o| (n, o))) {
                assert_eq!(is_in_doubt(e, owner, now), in_doubt(e, owner, now));
            }
        }
    }
}

mod explain {
    use super::*;
    use remit_core::explain::{on_retry, Facts, Step, Why};

    fn is_through(f: Facts) -> bool {
        f.recorded || f.handled
    }

    fn step_spec(f: Facts) -> Step {
        if is_through(f) {
            Step::Skip
        } else if f.parked && !f.answered {
            Step::Ask
        } else {
            Step::Run
        }
    }

    fn why_spec(f: Facts) -> Why {
        match (f.parked, f.answered) {
            _ if f.recorded => Why::Recorded,
            _ if f.handled => Why::Handled,
            (true, true) => Why::Answered,
            (true, false) => Why::Unanswered,
            (false, _) if f.failed => Why::Failed,
            (false, _) => Why::Nothing,
        }
    }

    fn on_retry_spec(f: Facts) -> (Step, Why) {
        (step_spec(f), why_spec(f))
    }

    #[test]
    fn it_keeps_its_contracts() {
        for facts in sequences(&BOTH, 5).into_iter().filter(|f| f.len() == 5) {
            let f = Facts {
                recorded: facts[0],
                parked: facts[1],
                answered: facts[2],
                failed: facts[3],
                handled: facts[4],
            };
            assert_eq!(on_retry(f), on_retry_spec(f), "{f:?}");
        }
    }
}
