//! Every run of `models/results.csv`, counted anew: generated, distinct, depth and verdict as TLC has them, or, of the
//! claim's runs, as this checker had them.
use remit_model::checker::Error;
use remit_model::runs::{Counts, Models, Run, SCALED};
use remit_model::systems::claim::ConsumeClaim;

/// The runs among these that differ from what is pinned.
fn differing(runs: &[Run]) -> Result<Vec<(String, Counts)>, Error> {
    let models = Models::of_the_repository();
    let mut differ = Vec::new();
    for run in runs {
        let counted = Counts::from(&models.check(run, &mut |_| {})?);
        if counted != run.pinned {
            differ.push((run.name.clone(), counted));
        }
    }
    Ok(differ)
}

/// The runs of the TLA+ modules, and the claim's.
fn runs() -> Result<(Vec<Run>, Vec<Run>), Error> {
    let runs = Models::of_the_repository().runs()?.into_iter();
    Ok(runs.partition(|r| r.module != ConsumeClaim::MODULE))
}

#[test]
fn every_run_is_as_tlc_counted_it() -> Result<(), Error> {
    let (scaled, rest): (Vec<Run>, Vec<Run>) = runs()?
        .0
        .into_iter()
        .partition(|r| SCALED.contains(&r.name.as_str()));
    assert_eq!((scaled.len(), rest.len()), (3, 245));
    assert_eq!(differing(&rest)?, []);
    Ok(())
}

#[test]
fn every_run_of_the_claim_is_as_pinned() -> Result<(), Error> {
    let (_, claim) = runs()?;
    assert_eq!(claim.len(), 22);
    assert_eq!(differing(&claim)?, []);
    Ok(())
}

/// Seconds in a release build, minutes without optimization.
#[cfg(feature = "scaled")]
#[test]
fn the_scaled_searches_are_as_tlc_counted_them() -> Result<(), Error> {
    let mut scaled = Models::of_the_repository().runs()?;
    scaled.retain(|r| SCALED.contains(&r.name.as_str()));
    assert_eq!(scaled.len(), 3);
    assert_eq!(differing(&scaled)?, []);
    Ok(())
}

#[test]
fn a_wrong_pin_is_noticed() -> Result<(), Error> {
    let mut runs = Models::of_the_repository().runs()?;
    runs.truncate(1);
    runs[0].pinned.distinct += 1;
    assert_eq!(differing(&runs)?.len(), 1);
    Ok(())
}

#[test]
fn the_configurations_check_what_the_table_says() -> Result<(), Error> {
    let models = Models::of_the_repository();
    for run in runs()?.0 {
        let c = models.config(&run.name)?;
        let names = [c.invariants.join(" "), c.properties.join(" ")].join(" ");
        assert_eq!(names.trim(), run.checked, "{}", run.name);
        let text = models.read(&format!("cfg/{}.cfg", run.name))?;
        assert!(
            text.starts_with(&format!("\\* {}: ", run.module)),
            "{}",
            run.name
        );
        // TLC looks the names up in the module or in the one it extends
        let modules =
            models.read(&format!("{}.tla", run.module))? + &models.read("ResumeContract.tla")?;
        for name in run.checked.split(' ') {
            assert!(
                modules.contains(&format!("\n{name} ")),
                "{}: {name}",
                run.name
            );
        }
    }
    Ok(())
}
