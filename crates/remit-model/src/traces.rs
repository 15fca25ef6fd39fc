//! What the models predict of a run elsewhere, as JSON lines: `tests/model` replays them on LangGraph.
use crate::checker::{Error, System, Verdict};
use crate::conformance::search::{random_trace, Trace};
use crate::runs::Models;
use crate::systems::lang_graph_fork::predicted;
use crate::systems::parked::{Parked, State};
use crate::systems::{Action, Bounds, Decision, Faults, ResumeContract, Run};
use crate::tables::quoted;

/// The modules whose actions a single consumer can bring about.
const SINGLE: [&str; 2] = ["ResumeContract", "ResumeContractParked"];

/// The reference semantics, which a plane is held against.
fn reference(bounds: Bounds) -> Parked {
    Parked {
        base: ResumeContract {
            bounds,
            faults: Faults::default(),
        },
        durable_parking: true,
    }
}

/// Counterexample-shaped traces, then `count` random ones, each with the state that the reference predicts after each
/// step. Random ones are those that `conform` drives the core through, by the same seeds.
pub fn traces(models: &Models, count: u64, first: u64) -> Result<String, Error> {
    let mut out = String::new();
    let mut shapes: Vec<Vec<Action>> = Vec::new();
    for run in models.runs()? {
        if !SINGLE.contains(&run.module.as_str()) || run.pinned.verdict == "all hold" {
            continue;
        }
        let Verdict::Violated { path, forever, .. } = models.check(&run, &mut |_| {})?.verdict
        else {
            continue;
        };
        let steps = path.iter().chain(&forever);
        let actions: Vec<Action> = steps.filter_map(|s| s.action.parse().ok()).collect();
        let bounds = ResumeContract::new(&models.config(&run.name)?)?.bounds;
        let trace = completed(bounds, &actions);
        if !shapes.contains(&trace.actions) {
            out += &line(&run.name, &trace);
            shapes.push(trace.actions);
        }
    }
    for seed in first..first.saturating_add(count) {
        out += &line(&format!("seed {seed}"), &random_trace(seed));
    }
    Ok(out)
}

/// What a run does outside of a faulty plane: the plane's own decisions are left to the reference, a step that is not
/// possible there is left out, and the run is brought to its end, with a stray if there is room for one.
fn completed(bounds: Bounds, actions: &[Action]) -> Trace {
    let model = reference(bounds);
    let mut here = model.init();
    let mut trace = Trace {
        bounds,
        actions: Vec::new(),
    };
    let mut take = |here: &mut State, wanted: &dyn Fn(&Action) -> bool| {
        let step = steps(&model, here).into_iter().find(|(a, _)| wanted(a));
        step.is_some_and(|(action, next)| {
            *here = next;
            trace.actions.push(action);
            true
        })
    };
    for action in actions {
        let outside = match action {
            Action::CrashRecover(_) => Action::CrashRecover(Decision::Skip),
            Action::CrashParked(_) => Action::CrashParked(Decision::Skip),
            other => *other,
        };
        take(&mut here, &|a| *a == outside);
    }
    while take(&mut here, &|a| a.fair().is_some()) {}
    take(&mut here, &|a| *a == Action::ExtraResume);
    trace
}

fn steps(model: &Parked, here: &State) -> Vec<(Action, State)> {
    let mut steps = Vec::new();
    model.next(here, &mut |action, next| steps.push((action, next)));
    steps
}

fn line(name: &str, trace: &Trace) -> String {
    let model = reference(trace.bounds);
    let mut here = model.init();
    let mut rows = Vec::new();
    for action in &trace.actions {
        // every trace is one of the reference
        if let Some((_, next)) = steps(&model, &here).into_iter().find(|(a, _)| a == action) {
            here = next;
            rows.push(format!(
                "{{\"action\": {}, {}}}",
                quoted(&action.to_string()),
                state(&here.run, &trace.bounds)
            ));
        }
    }
    format!(
        "{{\"name\": {}, \"tasks\": {}, \"gate\": {}, \"steps\": [{}]}}\n",
        quoted(name),
        trace.bounds.tasks,
        trace.bounds.gate,
        rows.join(", ")
    )
}

fn state(run: &Run, bounds: &Bounds) -> String {
    let list = |items: &mut dyn Iterator<Item = u8>| {
        let items: Vec<String> = items.map(|i| i.to_string()).collect();
        format!("[{}]", items.join(", "))
    };
    format!(
        "\"pc\": {}, \"effects\": {}, \"dur\": {}, \"waiting\": {}, \"served\": {}",
        run.pc,
        list(&mut run.effects.iter().take(usize::from(bounds.tasks)).copied()),
        run.dur,
        run.waiting,
        list(&mut run.fork_outs.iter().copied())
    )
}

/// What `LangGraphFork` predicts of protocols, one on a line: `NAME: c1=va c1={vb} -=vc`, where braces stand for an
/// answer by name and the dash for a stray; the rules know neither of the two.
pub fn predictions(protocols: &str) -> Result<String, Error> {
    let mut out = String::new();
    for line in protocols.lines() {
        let wrong = || Error::Configuration(format!("not a protocol: {line}"));
        let (name, words) = line.split_once(": ").ok_or_else(wrong)?;
        let mut invocations = Vec::new();
        for word in words.split(' ') {
            let (place, value) = word.split_once('=').ok_or_else(wrong)?;
            let value = value.trim_matches(['{', '}']);
            if place != "-" {
                let c = place.strip_prefix('c').and_then(|c| c.parse().ok());
                let v = value.strip_prefix('v').and_then(|v| v.bytes().next());
                let at_zero = |c: u8| c.checked_sub(1);
                let invocation = c.and_then(at_zero).zip(v.and_then(|v| v.checked_sub(b'a')));
                invocations.push(invocation.ok_or_else(wrong)?);
            }
        }
        let served = |key_by_ordinal| {
            let served = predicted(key_by_ordinal, &invocations)?;
            let served: Vec<String> = served.iter().map(|v| quoted(v)).collect();
            Ok::<_, Error>(format!("[{}]", served.join(", ")))
        };
        out += &format!(
            "{{\"protocol\": {}, \"steps\": {}, \"LGF-A\": {}, \"LGF-B\": {}}}\n",
            quoted(name),
            quoted(words),
            served(false)?,
            served(true)?
        );
    }
    Ok(out)
}
