//! The variables of `ResumeContract.tla`, and how they are written as bits and for people.
use super::{Bounds, Decision};
use crate::bits::{width, Reader, Writer};
use crate::seq::Seq;

/// The most tasks of a run.
pub const MOST_TASKS: usize = 10;

/// A record of the checkpoint log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// The task that was completed.
    pub task: u8,
    /// Does the record satisfy its schema?
    pub valid: bool,
}

/// A run's state: `vars` of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// Next task to execute; N + 1 when complete.
    pub pc: u8,
    /// How often each task's external effect fired; task 1 comes first.
    pub effects: [u8; MOST_TASKS],
    /// The checkpoint log.
    pub log: Seq<Record>,
    /// The durable frontier: highest task committed.
    pub dur: u8,
    /// Is the run parked on the interrupt?
    pub waiting: bool,
    /// The answer consumed at the gate.
    pub consumed: Option<u8>,
    /// Answers supplied at the gate's checkpoint, in order.
    pub fork_vals: Seq<u8>,
    /// The outcome served for each of them.
    pub fork_outs: Seq<u8>,
    /// Crashes so far.
    pub crashes: u8,
    /// Each recovery's frontier and decision.
    pub rec_hist: Seq<(u8, Decision)>,
    /// Was a durably completed task executed again?
    pub prefix_regressed: bool,
    /// Stray resumes so far.
    pub extra: u8,
}

impl Run {
    /// `Init`.
    pub fn init() -> Self {
        Run {
            pc: 1,
            effects: [0; MOST_TASKS],
            log: Seq::default(),
            dur: 0,
            waiting: false,
            consumed: None,
            fork_vals: Seq::default(),
            fork_outs: Seq::default(),
            crashes: 0,
            rec_hist: Seq::default(),
            prefix_regressed: false,
            extra: 0,
        }
    }

    /// How often the effect of a task fired.
    pub fn fired(&self, task: u8) -> u8 {
        self.effects[usize::from(task) - 1]
    }

    /// `[effects EXCEPT ![task] = @ + 1]`
    pub fn fire(mut self, task: u8) -> Self {
        self.effects[usize::from(task) - 1] += 1;
        self
    }

    /// Writes the state. A log mostly counts up, so a record that follows its predecessor takes two bits.
    pub fn pack(&self, b: &Bounds, w: &mut Writer) {
        let task = width(usize::from(b.tasks) + 1);
        let value = width(usize::from(b.values) - 1);
        w.fail_unless(
            self.log.is_whole()
                && self.fork_vals.is_whole()
                && self.fork_outs.is_whole()
                && self.rec_hist.is_whole(),
        );
        w.number(usize::from(self.pc), task);
        for fired in &self.effects[..usize::from(b.tasks)] {
            w.count(*fired);
        }
        w.number(self.log.len(), 6);
        let mut before = 0;
        for record in self.log.iter() {
            w.flag(record.valid);
            w.flag(record.task == before + 1);
            if record.task != before + 1 {
                w.number(usize::from(record.task), task);
            }
            before = record.task;
        }
        w.number(usize::from(self.dur), task);
        w.flag(self.waiting);
        w.flag(self.consumed.is_some());
        if let Some(v) = self.consumed {
            w.number(usize::from(v) - 1, value);
        }
        for answers in [&self.fork_vals, &self.fork_outs] {
            w.number(answers.len(), width(usize::from(b.max_resumes)));
            for v in answers.iter() {
                w.number(usize::from(*v) - 1, value);
            }
        }
        w.number(usize::from(self.crashes), width(usize::from(b.max_crashes)));
        w.number(self.rec_hist.len(), width(usize::from(b.max_crashes)));
        for (frontier, decision) in self.rec_hist.iter() {
            w.number(usize::from(*frontier), task);
            w.flag(*decision == Decision::Reexec);
        }
        w.flag(self.prefix_regressed);
        w.number(usize::from(self.extra), width(usize::from(b.max_extra)));
    }

    /// Reads what [`Run::pack`] wrote.
    pub fn unpack(b: &Bounds, r: &mut Reader) -> Self {
        let task = width(usize::from(b.tasks) + 1);
        let value = width(usize::from(b.values) - 1);
        let mut s = Run::init();
        s.pc = r.number(task) as u8;
        for fired in &mut s.effects[..usize::from(b.tasks)] {
            *fired = r.count();
        }
        let mut before = 0;
        for _ in 0..r.number(6) {
            let valid = r.flag();
            let follows = r.flag();
            before = if follows {
                before + 1
            } else {
                r.number(task) as u8
            };
            s.log = s.log.append(Record {
                task: before,
                valid,
            });
        }
        s.dur = r.number(task) as u8;
        s.waiting = r.flag();
        if r.flag() {
            s.consumed = Some(r.number(value) as u8 + 1);
        }
        for answers in [&mut s.fork_vals, &mut s.fork_outs] {
            *answers = (0..r.number(width(usize::from(b.max_resumes))))
                .map(|_| r.number(value) as u8 + 1)
                .collect();
        }
        s.crashes = r.number(width(usize::from(b.max_crashes))) as u8;
        for _ in 0..r.number(width(usize::from(b.max_crashes))) {
            let frontier = r.number(task) as u8;
            let reexec = r.flag();
            let decision = if reexec {
                Decision::Reexec
            } else {
                Decision::Skip
            };
            s.rec_hist = s.rec_hist.append((frontier, decision));
        }
        s.prefix_regressed = r.flag();
        s.extra = r.number(width(usize::from(b.max_extra))) as u8;
        s
    }

    /// The variables, in TLA+'s notation.
    pub fn variables(&self, b: &Bounds) -> Vec<(&'static str, String)> {
        let answers = |s: &Seq<u8>| tuple(s.iter().map(|v| format!("v{v}")));
        vec![
            ("pc", self.pc.to_string()),
            (
                "effects",
                tuple(self.effects[..usize::from(b.tasks)].iter()),
            ),
            (
                "log",
                tuple(
                    self.log
                        .iter()
                        .map(|r| format!("{}{}", r.task, if r.valid { "" } else { " (invalid)" })),
                ),
            ),
            ("dur", self.dur.to_string()),
            ("waiting", self.waiting.to_string()),
            (
                "consumed",
                self.consumed
                    .map_or("None".to_string(), |v| format!("v{v}")),
            ),
            ("forkVals", answers(&self.fork_vals)),
            ("forkOuts", answers(&self.fork_outs)),
            ("crashes", self.crashes.to_string()),
            (
                "recHist",
                tuple(self.rec_hist.iter().map(|(f, d)| format!("<<{f}, {d}>>"))),
            ),
            ("prefixRegressed", self.prefix_regressed.to_string()),
            ("extra", self.extra.to_string()),
        ]
    }
}

/// A sequence in TLA+'s notation.
pub fn tuple(items: impl Iterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.map(|i| i.to_string()).collect();
    format!("<<{}>>", items.join(", "))
}
