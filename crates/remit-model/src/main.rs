//! The command line: counts to stdout, progress to stderr. Exit status 1: something is not as pinned; 2: no answer.
use remit_model::checker::{Error, Step, Verdict};
use remit_model::runs::{Counts, Models, Run};
use remit_model::tables::{
    grouped, json, results, sometimes, tables, Row, Subject, Table, SUBJECTS,
};
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "\
usage: remit-model SUBJECT [--format text|markdown|json] [--models DIR]
       remit-model replay RUN [--models DIR]

SUBJECT  check        the reference, each fault once, liveness, and what is not vacuous
         matrix       each fault against each property, at two bounds, and under parking
         separations  three systems that break exactly one property each
         race         how often one approval is consumed
         forks        two rules for keying a resume
         parked       crash while parked, durable and volatile
         scaled       seven million states
         all          everything
replay   prints the counterexample of a run, step by step: replay matrix/Replay_EO
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
        ["replay", run] => Ok((replay(&o.models, run)?, ExitCode::SUCCESS)),
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
    let outcome = models.check(run, &mut |p| {
        eprintln!(
            "{}: level {}, {} generated, {} distinct",
            run.name,
            p.level,
            grouped(p.generated),
            grouped(p.distinct)
        );
    })?;
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

fn show(number: &str, step: &Step, before: Option<&Step>) -> String {
    let mut out = format!("{number} {}\n", step.action);
    for (i, variable) in step.variables.iter().enumerate() {
        if before.and_then(|b| b.variables.get(i)) != Some(variable) {
            out += &format!("    {} = {}\n", variable.0, variable.1);
        }
    }
    out
}
