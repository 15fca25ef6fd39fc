//! The pinned runs: `models/results.csv` names each run, its module and what TLC counted; `models/cfg` configures it.
use crate::checker::{check, Error, Outcome, Progress, System, Verdict};
use crate::config::Config;
use crate::systems::claim::ConsumeClaim;
use crate::systems::consume_count::ConsumeCount;
use crate::systems::lang_graph_fork::LangGraphFork;
use crate::systems::parked::Parked;
use crate::systems::separations::Separations;
use crate::systems::state_rebuild::StateRebuild;
use crate::systems::ResumeContract;
use std::path::{Path, PathBuf};

/// The complete searches at the scaled bounds: seven million states each.
pub const SCALED: [&str; 3] = [
    "R8_scaled",
    "R8_fork_ignore_holding",
    "Parked/durable_R8_safety",
];

/// What a search counted and found: a row's right half.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// The initial state and all successors produced.
    pub generated: u64,
    /// States.
    pub distinct: u64,
    /// Levels, or states of the counterexample.
    pub depth: u32,
    /// "all hold", or the property and "violated".
    pub verdict: String,
}

impl From<&Outcome> for Counts {
    fn from(o: &Outcome) -> Self {
        Counts {
            generated: o.generated,
            distinct: o.distinct,
            depth: o.depth,
            verdict: match &o.verdict {
                Verdict::Holds => "all hold".to_string(),
                Verdict::Violated { property, .. } => format!("{property} violated"),
            },
        }
    }
}

/// One run of `results.csv`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Its configuration is `cfg/NAME.cfg`, where it is of a TLA+ module.
    pub name: String,
    /// The TLA+ module, or [`ConsumeClaim::MODULE`].
    pub module: String,
    /// What is checked, in order.
    pub checked: String,
    /// What TLC counted and found; of the claim's runs, what this checker did.
    pub pinned: Counts,
}

/// The directory `models`.
#[derive(Clone, Debug)]
pub struct Models(PathBuf);

impl Models {
    /// At a path.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Models(path.as_ref().to_path_buf())
    }

    /// The repository's: beside the crate when cargo runs it, else in the working directory.
    pub fn of_the_repository() -> Self {
        match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => Models(Path::new(&dir).join("../../models")),
            None => Models(PathBuf::from("models")),
        }
    }

    /// A file's text.
    pub fn read(&self, name: &str) -> Result<String, Error> {
        let path = self.0.join(name);
        std::fs::read_to_string(&path)
            .map_err(|e| Error::Configuration(format!("{}: {e}", path.display())))
    }

    /// All pinned runs.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        let text = self.read("results.csv")?;
        text.lines().skip(1).map(row).collect()
    }

    /// The configuration of a run.
    pub fn config(&self, run: &str) -> Result<Config, Error> {
        Config::parse(&self.read(&format!("cfg/{run}.cfg"))?)
            .map_err(|e| Error::Configuration(format!("{run}: {e}")))
    }

    /// Runs a run.
    pub fn check(&self, run: &Run, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, Error> {
        if run.module == ConsumeClaim::MODULE {
            let checked: Vec<String> = run.checked.split(' ').map(str::to_string).collect();
            return check(&ConsumeClaim::of_run(&run.name)?, &checked, false, progress);
        }
        let c = self.config(&run.name)?;
        match run.module.as_str() {
            "ResumeContract" => search(&ResumeContract::new(&c)?, &c, progress),
            "R10_Separations" => search(&Separations::new(&c)?, &c, progress),
            "R11_ConsumeCount" => search(&ConsumeCount::new(&c)?, &c, progress),
            "StateRebuild" => search(&StateRebuild::new(&c)?, &c, progress),
            "ResumeContractParked" => search(&Parked::new(&c)?, &c, progress),
            "LangGraphFork" => search(&LangGraphFork::new(&c)?, &c, progress),
            other => Err(Error::Configuration(format!("no such module: {other}"))),
        }
    }
}

fn search<S: System>(
    system: &S,
    c: &Config,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Error> {
    check(system, &c.invariants, !c.properties.is_empty(), progress)
}

fn row(line: &str) -> Result<Run, Error> {
    let wrong = || Error::Configuration(format!("results.csv: {line}"));
    let fields: Vec<&str> = line.split(',').collect();
    let [name, module, checked, generated, distinct, depth, verdict] = fields[..] else {
        return Err(wrong());
    };
    Ok(Run {
        name: name.to_string(),
        module: module.to_string(),
        checked: checked.to_string(),
        pinned: Counts {
            generated: generated.parse().map_err(|_| wrong())?,
            distinct: distinct.parse().map_err(|_| wrong())?,
            depth: depth.parse().map_err(|_| wrong())?,
            verdict: verdict.to_string(),
        },
    })
}
