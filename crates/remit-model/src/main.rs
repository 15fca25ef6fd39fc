//! The command line: counts to stdout, progress to stderr. Exit status 1: something is not as pinned; 2: no answer.
use remit_model::checker::{Error, Step, Verdict};
use remit_model::conformance::core::Shipped;
use remit_model::conformance::search::{
    every_sequence, every_state, random, Trace, REFERENCE, WIDER,
};
use remit_model::conformance::world::World;
use remit_model::runs::{Counts, Models, Run};
use remit_model::tables::{
    grouped, json, results, sometimes, tables, Row, Subject, Table, SUBJECTS,
};
use remit_model::traces::{predictions, traces};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: remit-model SUBJECT [--format text|markdown|json] [--models DIR]
       remit-model conform [SEQUENCES [FIRST_SEED]]
       remit-model replay RUN|TRACE [--models DIR]
       remit-model traces [COUNT [FIRST_SEED]] [--models DIR]
       remit-model predict PROTOCOLS

SUBJECT  check        the reference, each fault once, liveness, and what is not vacuous
         matrix       each fault against each property, at two bounds, and under parking
         separations  three systems that break exactly one property each
         race         how often one approval is consumed
         forks        two rules for keying a resume
         parked       crash while parked, durable and volatile
         claim        workers that want one approval, their leases and crashes, and wrong rules
         scaled       seven million states
         all          everything
conform  drives remit-core through the model's actions: all sequences at the reference bounds, all states at wider
         ones, and SEQUENCES random ones (20000)
replay   prints a run's counterexample step by step (replay matrix/Replay_EO), or what remit-core does in a trace
         that conform printed (replay '3,2,2,2,1,1: ExecTask EmitInterrupt Consume(v1)')
traces   prints counterexample-shaped traces and COUNT random ones (24), with what the reference predicts of each step
predict  prints what each rule of LangGraphFork predicts of the protocols in a file, one on a line
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok((output, code)) => {
            // a closed pipe is the reader's wish, not a failure
            let _ = std::io::stdout().write_all(output.as_bytes());
            code
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    words: Vec<String>,
    format: String,
    models: Models,
}

fn options(arguments: &[String]) -> Result<Options, Error> {
    let usage = |detail: String| Error::Configuration(format!("{detail}\n\n{USAGE}"));
    let mut o = Options {
        words: Vec::new(),
        format: "text".to_string(),
        models: Models::of_the_repository(),
    };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| usage(format!("{word} needs a value")))
        };
        match word.as_str() {
            "--format" => o.format = value()?.clone(),
            "--models" => o.models = Models::at(value()?),
            option if option.starts_with('-') => {
                return Err(usage(format!("no such option: {option}")))
            }
            _ => o.words.push(word.clone()),
        }
    }
    if ["text", "markdown", "json"].contains(&o.format.as_str()) {
        Ok(o)
    } else {
        Err(usage(format!("no such format: {}", o.format)))
    }
}

fn run(arguments: &[String]) -> Result<(String, ExitCode), Error> {
    if arguments.is_empty() || arguments.iter().any(|a| a == "--help" || a == "-h") {
        return Ok((USAGE.to_string(), ExitCode::SUCCESS));
    }
    let o = options(arguments)?;
    let words: Vec<&str> = o.words.iter().map(String::as_str).collect();
    match words[..] {
        ["replay", trace] if trace.contains(':') => retrace(trace),
        ["conform"] => Ok(conform("20000", "0")?),
        ["conform", sequences] => Ok(conform(sequences, "0")?),
        ["conform", sequences, first] => Ok(conform(sequences, first)?),
        ["replay", run] => Ok((replay(&o.models, run)?, ExitCode::SUCCESS)),
        ["traces"] => listed(traces(&o.models, 24, 0)),
        ["traces", many] => listed(traces(&o.models, number(many)?, 0)),
        ["traces", many, first] => listed(traces(&o.models, number(many)?, number(first)?)),
        ["predict", path] => listed(predictions(
            &std::fs::read_to_string(path)
                .map_err(|e| Error::Configuration(format!("{path}: {e}")))?,
        )),
        ["all"] => count(&o, SUBJECTS),
        [name] => match SUBJECTS.iter().find(|s| s.name == name) {
            Some(subject) => count(&o, std::slice::from_ref(subject)),
            None => Err(Error::Configuration(format!(
                "no such subject: {name}\n\n{USAGE}"
            ))),
        },
        _ => Err(Error::Configuration(format!(
            "not understood: {}\n\n{USAGE}",
            words.join(" ")
        ))),
    }
}

fn count(o: &Options, subjects: &[Subject]) -> Result<(String, ExitCode), Error> {
    let mut rows: Vec<Row> = Vec::new();
    for run in o.models.runs()? {
        if subjects.iter().any(|s| s.has(&run)) {
            let counted = counts(&o.models, &run)?;
            rows.push((run, counted));
        }
    }
    if rows.is_empty() {
        return Err(Error::Configuration(
            "results.csv has no such runs".to_string(),
        ));
    }
    let mut output = String::new();
    match o.format.as_str() {
        "json" => output = json(&rows),
        "markdown" if subjects.len() == SUBJECTS.len() => output = results(&o.models, &rows)?,
        format => {
            let render = match format {
                "markdown" => Table::markdown,
                _ => Table::text,
            };
            for subject in subjects {
                for table in tables(subject, &rows) {
                    output += &render(&table);
                }
                if subject.name == "check" {
                    output += &render(&sometimes(&o.models)?);
                }
            }
        }
    }
    let mut differing = 0;
    for (run, counted) in rows.iter().filter(|(run, counted)| run.pinned != *counted) {
        differing += 1;
        eprintln!("{}: counted {counted:?}, pinned {:?}", run.name, run.pinned);
    }
    eprintln!("{} runs, {differing} not as pinned", rows.len());
    Ok((
        output,
        if differing == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        },
    ))
}

fn counts(models: &Models, run: &Run) -> Result<Counts, Error> {
    let begun = Instant::now();
    let outcome = models.check(run, &mut |p| {
        eprintln!(
            "{}: level {}, {} generated, {} distinct",
            run.name,
            p.level,
            grouped(p.generated),
            grouped(p.distinct)
        );
    })?;
    if outcome.distinct > 1_000_000 {
        eprintln!("{}: {:.1} s", run.name, begun.elapsed().as_secs_f64());
    }
    Ok(Counts::from(&outcome))
}

/// A counterexample: the initial state, then what each step changes.
fn replay(models: &Models, name: &str) -> Result<String, Error> {
    let runs = models.runs()?;
    let run = runs.iter().find(|r| r.name == name).ok_or_else(|| {
        Error::Configuration(format!(
            "no such run: {name} (the runs are listed by `all`)"
        ))
    })?;
    let (property, path, forever) = match models.check(run, &mut |_| {})?.verdict {
        Verdict::Holds => return Ok(format!("{name}: {} hold, nothing to replay\n", run.checked)),
        Verdict::Violated {
            property,
            path,
            forever,
        } => (property, path, forever),
    };
    let mut out = format!("{name}: {property} is violated\n");
    let mut before = None;
    for (number, step) in (1..).zip(&path) {
        out += &show(&number.to_string(), step, before);
        before = Some(step);
    }
    if property == "EventuallyCompletes" {
        out += if forever.is_empty() {
            "and nothing happens any more\n"
        } else {
            "and for ever after:\n"
        };
        for step in &forever {
            out += &show("-", step, before);
            before = Some(step);
        }
    }
    Ok(out)
}

fn number(text: &str) -> Result<u64, Error> {
    let wrong = |_| Error::Configuration(format!("not a number: {text}"));
    text.parse().map_err(wrong)
}

fn listed(lines: Result<String, Error>) -> Result<(String, ExitCode), Error> {
    Ok((lines?, ExitCode::SUCCESS))
}

/// Holds the core against the model and says how much was tried.
fn conform(sequences: &str, first: &str) -> Result<(String, ExitCode), Error> {
    let (sequences, first) = (number(sequences)?, number(first)?);
    let mut out = String::new();
    let mut code = ExitCode::SUCCESS;
    for (name, bounds) in [
        ("R0_reference", REFERENCE),
        ("Parked/durable_wide_safety", WIDER),
    ] {
        let (what, found) = match bounds {
            REFERENCE => ("sequences", every_sequence(Shipped::default, bounds)),
            _ => (
                "states of host and core",
                every_state(Shipped::default, bounds),
            ),
        };
        out += &format!("{name}: {} {what}, {} states seen", found.tried, found.runs);
        out += &match found.first {
            None => ", all as the model has it\n".to_string(),
            Some(trace) => {
                code = ExitCode::from(1);
                format!(", {:?} broken by: {trace}\n", found.broken)
            }
        };
    }
    match random(
        |_| Shipped::default(),
        first..first.saturating_add(sequences),
    ) {
        Ok(actions) => {
            out += &format!(
                "{sequences} random sequences, {actions} actions, all as the model has it\n"
            );
        }
        Err(failure) => {
            code = ExitCode::from(1);
            out += &format!("{failure}\n");
        }
    }
    Ok((out, code))
}

/// A trace on the shipped core, step by step.
fn retrace(text: &str) -> Result<(String, ExitCode), Error> {
    let trace: Trace = text.parse().map_err(Error::Configuration)?;
    let mut world = World::new(Shipped::default(), trace.bounds);
    let mut before = Step {
        action: "Init".to_string(),
        variables: world.variables(),
    };
    let mut out = show("1", &before, None);
    for (number, action) in (2..).zip(trace.actions) {
        let enabled = world.enabled();
        let Some((_, expected)) = enabled.iter().find(|(a, _)| *a == action) else {
            return Err(Error::Configuration(format!(
                "not possible here: {action}\n{out}"
            )));
        };
        world.perform(action, expected);
        let now = Step {
            action: action.to_string(),
            variables: world.variables(),
        };
        out += &show(&number.to_string(), &now, Some(&before));
        let broken = world.broken();
        if !broken.is_empty() {
            return Ok((
                out + &format!("broken: {}\n", broken.join(", ")),
                ExitCode::from(1),
            ));
        }
        before = now;
    }
    Ok((out + "nothing is broken\n", ExitCode::SUCCESS))
}

fn show(number: &str, step: &Step, before: Option<&Step>) -> String {
    let mut out = format!("{number} {}\n", step.action);
    for (i, variable) in step.variables.iter().enumerate() {
        if before.and_then(|b| b.variables.get(i)) != Some(variable) {
            out += &format!("    {} = {}\n", variable.0, variable.1);
        }
    }
    out
}
