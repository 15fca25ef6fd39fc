//! `models/RESULTS.md` is what the checker prints, the predictions are what the models say, and nothing that holds in the reference holds for lack of events.
use remit_model::checker::Error;
use remit_model::runs::Models;
use remit_model::tables::{json, results, Row, NOT_VACUOUS, SUBJECTS};
use remit_model::traces::{predictions, traces};

fn pinned(models: &Models) -> Result<Vec<Row>, Error> {
    let runs = models.runs()?.into_iter();
    Ok(runs.map(|r| (r.clone(), r.pinned)).collect())
}

#[test]
fn the_page_is_what_is_printed() -> Result<(), Error> {
    let models = Models::of_the_repository();
    let printed = results(&models, &pinned(&models)?)?;
    assert_eq!(models.read("RESULTS.md")?, printed);
    Ok(())
}

/// What `tests/model` holds LangGraph against is what the models say, and was not written for the outcome.
#[test]
fn the_predictions_are_the_models() -> Result<(), Error> {
    let models = Models::of_the_repository();
    let read = |name: &str| models.read(&format!("../tests/model/{name}"));
    assert_eq!(read("forks.jsonl")?, predictions(&read("forks.txt")?)?);
    assert_eq!(read("traces.jsonl")?, traces(&models, 24, 0)?);
    Ok(())
}

#[test]
fn each_run_is_of_one_subject() -> Result<(), Error> {
    for run in Models::of_the_repository().runs()? {
        let n = SUBJECTS.iter().filter(|s| s.has(&run)).count();
        assert_eq!(n, 1, "{}", run.name);
    }
    Ok(())
}

#[test]
fn every_run_is_in_the_json() -> Result<(), Error> {
    let models = Models::of_the_repository();
    let text = json(&pinned(&models)?);
    assert_eq!(text.matches("\"run\": ").count(), 270);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    Ok(())
}

/// For each `always` a `sometimes`. One crash leaves no two recoveries to compare: there RD says nothing.
#[test]
fn what_a_property_speaks_of_happens() -> Result<(), Error> {
    let models = Models::of_the_repository();
    let mut never = Vec::new();
    for run in models.runs()? {
        if NOT_VACUOUS.contains(&run.name.as_str()) {
            let outcome = models.check(&run, &mut |_| {})?;
            assert!(outcome.sometimes.len() >= 4, "{}", run.name);
            let missing = outcome
                .sometimes
                .iter()
                .filter(|(_, level)| level.is_none());
            never.extend(missing.map(|(property, _)| (run.name.clone(), *property)));
        }
    }
    let expected = ["R0_reference", "matrix/StateRebuild_off", "R11/ref_holding"]
        .map(|run| (run.to_string(), "RD"));
    assert_eq!(never, expected);
    Ok(())
}
