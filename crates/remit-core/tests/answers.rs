//! How answers are stored beside their questions: a node that asks three questions, and calls that answer, retry, fail
//! and die at every point, four calls deep, and at random deeper. The rows are filed and read as `python/remit/rows.py`
//! does it; the node is what both supported releases of LangGraph make of it. Known throughout: which question is open,
//! and the last answer to each question so far.
mod common;

use std::collections::BTreeMap;

use common::{for_seeds, Draw, BOTH};
use remit_core::answers::{binds_to, open_question, store, Batch};
use remit_core::view::{is_reached, view, Class, Intent, Question, Show, Slot, Write};

const QUESTIONS: usize = 3;

/// An answer: the question that it was given for, and a serial number.
type Value = (usize, usize);

/// The releases differ in the list that a task reports when a recorded answer is read again.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Release {
    /// 1.2.9: the whole list.
    Whole,
    /// 1.2.24: up to the answer that was read.
    Cut,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Call {
    Retry,
    Bare,
    Named,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    None,
    /// Before this question; after the last answer if there is no such question.
    Fails(usize),
    /// The process dies there; was the bare answer stored by then?
    Dies(usize, bool),
}

/// What is in the database.
#[derive(Clone, Default, Debug)]
struct Rows {
    list: Option<Vec<Value>>,
    waiting: BTreeMap<usize, Vec<Value>>,
    parked: bool,
    failed: bool,
    done: bool,
}

impl Rows {
    fn recorded(&self) -> usize {
        self.list.as_ref().map_or(0, Vec::len)
    }

    fn marked(&self) -> bool {
        self.waiting.contains_key(&self.recorded())
    }

    fn asked(&self) -> Option<usize> {
        open_question(self.parked, self.failed, self.marked(), self.recorded())
    }

    fn served(&self) -> Vec<Value> {
        let mut all = self.list.clone().unwrap_or_default();
        all.extend(self.waiting.get(&self.recorded()).into_iter().flatten());
        all
    }

    /// The list that LangGraph is shown.
    fn load(&self, call: Call) -> Vec<Value> {
        let row = |class, answers, about| Write {
            slot: Slot::Task(0),
            class,
            answers,
            about,
        };
        let mut list = self.served();
        let mut facts = vec![row(Class::Resume, list.len(), None)];
        if self.parked {
            let about = self.asked().map(|nth| Question { task: 0, nth });
            facts.push(row(Class::Interrupt, 0, about));
        }
        if self.failed {
            facts.push(row(Class::Error, 0, None));
        }
        let (intent, answered): (Intent, &[u32]) = match call {
            Call::Retry => (Intent::Retry, &[]),
            Call::Bare | Call::Named => (Intent::Answer, &[0]),
        };
        match view(&facts, intent, answered, true)[0] {
            Show::Keep => {}
            Show::Hide => list.clear(),
            Show::AllButLast => list.truncate(list.len() - 1),
        }
        list
    }

    /// Stores a batch of the task beside what was loaded.
    fn store(&mut self, batch: Batch, given: Option<Vec<Value>>, loaded: &Rows) {
        let s = store(
            batch,
            given.as_ref().map(Vec::len),
            loaded.recorded(),
            loaded.marked(),
            loaded.failed,
        );
        let source = if s.restore {
            loaded.list.clone()
        } else {
            given
        }
        .unwrap_or_default();
        if let Some(n) = s.marks.filter(|n| !loaded.waiting.contains_key(n)) {
            self.waiting.insert(n, Vec::new());
        }
        if let Some(n) = s.waits_for {
            self.waiting.insert(n, vec![source[n]]);
        }
        if let Some(n) = s.keep {
            self.list = Some(source[..n].to_vec());
        }
        assert_eq!(s.drops_output, batch == Batch::Failed);
        self.parked |= batch == Batch::Parked;
        self.failed |= batch == Batch::Failed;
        self.done |= batch == Batch::Other;
    }
}

/// What should be: the open question, and the last durable answer to each.
#[derive(Clone, Default, Debug)]
struct Truth {
    asked: Option<usize>,
    given: Vec<Value>,
}

#[derive(Clone, Default, Debug)]
struct World {
    rows: Rows,
    truth: Truth,
    serial: usize,
}

impl World {
    /// A call. False if it cannot be made.
    fn call(&mut self, release: Release, call: Call, end: End) -> bool {
        if self.rows.done || (call != Call::Retry && self.truth.asked.is_none()) {
            return false;
        }
        let loaded_for = self.rows.asked();
        let mut loaded = self.rows.clone();
        let mut list = loaded.load(call);
        let mut bare: Option<Value> = None;
        let mut expected = self.truth.given.clone();
        let mut durable = self.truth.given.clone();
        let open = self.truth.asked.unwrap_or(0);
        if call != Call::Retry {
            self.serial += 1;
            let value = (open, self.serial);
            expected.truncate(open);
            expected.push(value);
            let stored = !matches!(end, End::Dies(_, false));
            if call == Call::Bare {
                assert!(is_reached(loaded_for, loaded.recorded()));
                bare = Some(value);
                if stored {
                    self.rows.waiting.insert(open, vec![value]);
                    loaded.waiting.insert(open, vec![value]);
                    durable = expected.clone();
                }
            } else {
                // the id of the open question is matched with the length of the list
                assert_eq!(list.len(), open, "{self:?}");
                list.push(value);
            }
        }
        // the node
        let mut sent: Option<Vec<Value>> = None;
        let mut served: Vec<Value> = Vec::new();
        let mut parked = false;
        for k in 0..=QUESTIONS {
            match end {
                End::Fails(at) if at == k => {
                    self.check_served(&served, &expected);
                    if call == Call::Named && sent.as_ref().is_some_and(|l| l.len() > open) {
                        durable = expected;
                    }
                    self.rows.store(Batch::Failed, sent, &loaded);
                    self.truth.given = durable;
                    return true;
                }
                End::Dies(at, _) if at == k => {
                    self.check_served(&served, &expected);
                    self.truth.given = durable;
                    return true;
                }
                _ => {}
            }
            if k == QUESTIONS {
                break;
            }
            if k < list.len() {
                let read = match release {
                    Release::Whole => list.len(),
                    Release::Cut => k + 1,
                };
                sent = Some(list[..read].to_vec());
            } else if let Some(value) = bare.take() {
                assert_eq!(list.len(), k);
                list.push(value);
                sent = Some(list.clone());
            } else {
                parked = true;
                break;
            }
            served.push(list[k]);
        }
        self.check_served(&served, &expected);
        assert_eq!(served.len(), expected.len(), "as far as the answers go");
        self.truth.given = expected;
        if parked {
            self.truth.asked = Some(served.len());
            self.rows.store(Batch::Parked, sent, &loaded);
        } else {
            self.rows.store(Batch::Other, sent, &loaded);
        }
        true
    }

    /// Each answer is the one that was given for its question, and the last such.
    fn check_served(&self, served: &[Value], expected: &[Value]) {
        assert_eq!(served, &expected[..served.len()], "{self:?}");
        assert!(served.iter().zip(0..).all(|((of, _), k)| *of == k));
    }

    fn check(&self) {
        if self.rows.done {
            return;
        }
        assert_eq!(self.rows.asked(), self.truth.asked, "{self:?}");
        assert_eq!(self.rows.served(), self.truth.given, "{self:?}");
    }

    /// Whatever happened, answers complete it.
    fn completes(&self, release: Release, call: Call) {
        let mut world = self.clone();
        for _ in 0..=QUESTIONS {
            let first = if world.truth.asked.is_none() {
                Call::Retry
            } else {
                call
            };
            if !world.call(release, first, End::None) {
                break;
            }
            world.check();
        }
        assert!(world.rows.done, "{self:?} does not complete");
    }
}

fn ends(call: Call) -> Vec<End> {
    let mut all = vec![End::None];
    for at in 0..=QUESTIONS {
        all.push(End::Fails(at));
        for stored in BOTH {
            if stored || call == Call::Bare {
                all.push(End::Dies(at, stored));
            }
        }
    }
    all
}

fn calls() -> Vec<(Call, End)> {
    [Call::Retry, Call::Bare, Call::Named]
        .into_iter()
        .flat_map(|call| ends(call).into_iter().map(move |end| (call, end)))
        .collect()
}

fn explore(world: &World, release: Release, calls: &[(Call, End)], depth: usize) {
    if depth == 0 {
        for call in [Call::Bare, Call::Named] {
            world.completes(release, call);
        }
        return;
    }
    for (call, end) in calls {
        let mut next = world.clone();
        if next.call(release, *call, *end) {
            next.check();
            explore(&next, release, calls, depth - 1);
        }
    }
}

#[test]
fn the_open_question_is_known_and_the_right_answers_survive() {
    for release in [Release::Whole, Release::Cut] {
        explore(&World::default(), release, &calls(), 4);
    }
}

#[test]
fn so_it_is_in_long_runs() {
    let calls = calls();
    for_seeds(3000, |draw: &mut Draw| {
        // a database may be used by both releases in turn
        let mut world = World::default();
        for _ in 0..40 {
            let release = draw.of(&[Release::Whole, Release::Cut]);
            let (call, end) = draw.of(&calls);
            let mut next = world.clone();
            if next.call(release, call, end) {
                next.check();
                if next.rows.done {
                    return;
                }
                world = next;
            }
        }
        world.completes(Release::Cut, Call::Bare);
    });
}

/// All inputs of `store`, and the rows that they were read from.
fn batches() -> Vec<(Batch, Option<Vec<Value>>, Rows)> {
    let list = |n: usize, serial| (0..n).map(|k| (k, serial)).collect::<Vec<Value>>();
    let mut all = Vec::new();
    for batch in [Batch::Parked, Batch::Failed, Batch::Other] {
        for given in [None, Some(0), Some(1), Some(2), Some(3)] {
            for recorded in 0..4 {
                for marked in BOTH {
                    for failed in BOTH {
                        let mut rows = Rows {
                            list: Some(list(recorded, 1)),
                            parked: true,
                            failed,
                            ..Rows::default()
                        };
                        if marked {
                            rows.waiting.insert(recorded, Vec::new());
                        }
                        all.push((batch, given.map(|n| list(n, 2)), rows));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_batch_has_its_rows() {
    for (batch, given, loaded) in batches() {
        let length = given.as_ref().map(Vec::len);
        let (recorded, marked) = (loaded.recorded(), loaded.marked());
        let s = store(batch, length, recorded, marked, loaded.failed);
        let source = if s.restore {
            recorded
        } else {
            length.unwrap_or(0)
        };
        assert!(s.keep.is_none_or(|n| n <= source));
        assert!(s.waits_for.is_none_or(|n| n < source));
        assert!(
            s.waits_for.is_none() || s.marks.is_none(),
            "answered or empty"
        );
        let mut rows = loaded.clone();
        rows.store(batch, given.clone(), &loaded);
        match batch {
            // the question that is asked is the one after the answers that were read
            Batch::Parked => {
                assert_eq!(rows.recorded(), length.unwrap_or(0));
                assert_eq!(rows.asked(), Some(length.unwrap_or(0)), "{loaded:?}");
            }
            Batch::Failed => assert!(rows.asked().is_some(), "{loaded:?}"),
            Batch::Other => assert_eq!(rows.recorded(), length.unwrap_or(recorded)),
        }
    }
}

/// A row costs a write. A first question needs none; a mark needs an older failure or an older answer, else the list's
/// length says it all.
#[test]
fn a_question_stores_no_more_rows_than_it_needs() {
    for (batch, given, loaded) in batches() {
        let (length, recorded) = (given.as_ref().map(Vec::len), loaded.recorded());
        if batch == Batch::Parked {
            let s = store(batch, length, recorded, loaded.marked(), loaded.failed);
            assert_eq!(s.keep.is_some(), length.is_some() || recorded > 0);
            let asked = length.unwrap_or(0);
            let needs_a_mark = loaded.failed || asked > 0;
            assert_eq!(
                s.marks,
                needs_a_mark.then_some(asked),
                "{given:?} {loaded:?}"
            );
        }
    }
}

#[test]
fn what_a_stock_saver_stored_of_a_failure_is_its_last_questions_answer() {
    for (batch, given, loaded) in batches() {
        let (recorded, read) = (loaded.recorded(), given.as_ref().map_or(0, Vec::len));
        let is_stock = loaded.failed && !loaded.marked() && recorded > 0;
        assert_eq!(loaded.asked().is_none(), loaded.failed && !loaded.marked());
        if !is_stock || batch != Batch::Failed || read > recorded {
            continue;
        }
        let mut rows = loaded.clone();
        rows.store(batch, given.clone(), &loaded);
        assert_eq!(rows.asked(), Some(recorded - 1), "{given:?} {loaded:?}");
        // nothing is lost: the answers to all questions up to the open one are there
        assert_eq!(rows.served().len(), recorded);
        let newer = given.filter(|g| g.len() == recorded);
        assert_eq!(rows.served(), newer.unwrap_or(loaded.served()));
    }
}

#[test]
fn a_bare_answer_is_bound_to_the_open_question_or_to_nothing() {
    for (_, _, loaded) in batches() {
        for parked in BOTH {
            let (recorded, marked) = (loaded.recorded(), loaded.marked());
            let bound = binds_to(parked, loaded.failed, marked, recorded);
            let expected = match open_question(parked, loaded.failed, marked, recorded) {
                Some(open) => Some((open, false)),
                // a stock saver's: its last answer is the open question's, and gives way
                None if parked && recorded > 0 => Some((recorded - 1, true)),
                None => None,
            };
            assert_eq!(bound, expected, "parked={parked} {loaded:?}");
            assert!(bound.is_none_or(
                |(n, replaces)| is_reached(Some(n), recorded) && replaces == (n < recorded)
            ));
        }
    }
}
