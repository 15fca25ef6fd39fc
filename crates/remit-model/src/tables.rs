//! Counts as tables: text for a terminal, Markdown for `models/RESULTS.md`, JSON for programs.
use crate::checker::{Error, Outcome};
use crate::runs::{Counts, Models, Run, SCALED};

/// A run and what was counted for it.
pub type Row = (Run, Counts);

/// A subject: a subcommand, and a section of RESULTS.md.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The subcommand.
    pub name: &'static str,
    /// The section's title.
    pub title: &'static str,
    has: fn(&str) -> bool,
}

/// All subjects; each run belongs to exactly one.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "check",
        title: "Reference bounds (N=3, IP=2, |V|=2, two resumes, one crash, one stray)",
        has: |run| !run.contains('/') && !run.starts_with("R8_"),
    },
    Subject {
        name: "matrix",
        title: "Fault matrix",
        has: |run| run.contains("matrix") && !run.starts_with("claim/"),
    },
    Subject {
        name: "separations",
        title: "Separations",
        has: |run| run.starts_with("R10/"),
    },
    Subject {
        name: "race",
        title: "Consumption counting, with and without a racer",
        has: |run| run.starts_with("R11/"),
    },
    Subject {
        name: "forks",
        title: "LangGraphFork",
        has: |run| run.starts_with("LGF/"),
    },
    Subject {
        name: "parked",
        title: "Crash while parked",
        has: |run| run.starts_with("Parked/") && !run.contains("matrix") && !SCALED.contains(&run),
    },
    Subject {
        name: "claim",
        title: "The consume claim (three workers, two crashes)",
        has: |run| run.starts_with("claim/"),
    },
    Subject {
        name: "scaled",
        title: "Scaled bounds (N=10, IP=5, |V|=4, five resumes, four crashes, four strays)",
        has: |run| run.starts_with("R8_") || SCALED.contains(&run),
    },
];

impl Subject {
    /// Is a run of this subject?
    pub fn has(&self, run: &Run) -> bool {
        (self.has)(&run.name)
    }
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The tables of a subject: its fault matrices as grids, everything else row by row.
pub fn tables(subject: &Subject, rows: &[Row]) -> Vec<Table> {
    let own = || rows.iter().filter(|(run, _)| subject.has(run));
    // GRID/FAULT_PROPERTY, in the order of first appearance; GRID/FAULT_holding is of all properties that hold
    let grid_and_fault = |row: &Row| {
        let (grid, cell) = row.0.name.rsplit_once('/')?;
        let (fault, property) = cell.split_once('_')?;
        let is_cell = match grid {
            "matrix" | "matrix_wide" | "R10" | "Parked/matrix" | "Parked/matrix_wide" => {
                fault != "StateRebuild" && property == row.0.checked
            }
            "claim/matrix" => property == row.0.checked || property == "holding",
            _ => false,
        };
        is_cell.then(|| (grid.to_string(), fault.to_string()))
    };
    let mut out: Vec<Table> = Vec::new();
    let mut grids: Vec<String> = own()
        .filter_map(grid_and_fault)
        .map(|(grid, _)| grid)
        .collect();
    grids.sort_by_key(|g| (g.len(), g.clone()));
    grids.dedup();
    for grid in grids {
        let mut cells: Vec<Cell> = Vec::new();
        for row in own() {
            let Some((_, fault)) = grid_and_fault(row).filter(|(g, _)| *g == grid) else {
                continue;
            };
            let properties = row.0.checked.split(' ');
            cells.extend(properties.map(|p| (fault.clone(), p.to_string(), &row.1)));
        }
        out.push(self::grid(&grid, &cells));
    }
    let rest: Vec<&Row> = own().filter(|row| grid_and_fault(row).is_none()).collect();
    if !rest.is_empty() {
        out.push(Table {
            title: String::new(),
            header: strings([
                "run",
                "checked",
                "generated",
                "distinct",
                "depth",
                "verdict",
            ]),
            rows: rest.iter().map(|(run, counts)| flat(run, counts)).collect(),
        });
    }
    if let Some(first) = out.first_mut() {
        first.title = match first.title.as_str() {
            "" => subject.title.to_string(),
            own => format!("{}: {own}", subject.title),
        };
    }
    out
}

fn flat(run: &Run, c: &Counts) -> Vec<String> {
    vec![
        run.name.clone(),
        run.checked.clone(),
        grouped(c.generated),
        grouped(c.distinct),
        c.depth.to_string(),
        c.verdict.clone(),
    ]
}

/// A fault, a property, and what was counted.
type Cell<'a> = (String, String, &'a Counts);

/// Faults down, properties across: the depth of the counterexample, or a dash. The last columns count a complete
/// search, where any cell of the row has one.
fn grid(name: &str, cells: &[Cell]) -> Table {
    let mut properties: Vec<&String> = Vec::new();
    let mut faults: Vec<&String> = Vec::new();
    for (fault, property, _) in cells {
        if !properties.contains(&property) {
            properties.push(property);
        }
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    let row = |fault: &&String| {
        let own = || cells.iter().filter(|(f, _, _)| f == *fault);
        let mut row = vec![fault.to_string()];
        for property in &properties {
            let verdict = own().find(|(_, p, _)| p == *property).map(|(_, _, c)| *c);
            row.push(match verdict {
                Some(c) if c.verdict == "all hold" => "-".to_string(),
                Some(c) => format!("violated at {}", c.depth),
                None => String::new(),
            });
        }
        match own().find(|(_, _, c)| c.verdict == "all hold") {
            Some((_, _, c)) => row.extend([
                grouped(c.generated),
                grouped(c.distinct),
                c.depth.to_string(),
            ]),
            None => row.extend(strings(["", "", ""])),
        }
        row
    };
    let mut header = strings([""]);
    header.extend(properties.iter().map(|p| p.to_string()));
    header.extend(strings(["generated", "distinct", "depth"]));
    Table {
        title: name.to_string(),
        header,
        rows: faults.iter().map(row).collect(),
    }
}

/// The runs in which everything holds, at which level the situation that each property speaks of first arose, and
/// at which each outcome of a step.
pub fn sometimes(models: &Models) -> Result<Table, Error> {
    let runs = models.runs()?;
    let mut rows = Vec::new();
    for name in NOT_VACUOUS {
        let run = runs.iter().find(|r| r.name == *name);
        let run = run.ok_or_else(|| Error::Configuration(format!("no such run: {name}")))?;
        let outcome: Outcome = models.check(run, &mut |_| {})?;
        let sometimes = outcome
            .sometimes
            .iter()
            .map(|(property, level)| match level {
                Some(level) => format!("{property} {level}"),
                None => format!("{property} never"),
            });
        let events = outcome.events.iter();
        let seen = sometimes.chain(events.map(|(event, level)| format!("{event} {level}")));
        rows.push(vec![name.to_string(), seen.collect::<Vec<_>>().join(", ")]);
    }
    Ok(Table {
        title: "Not vacuous: the level at which what a property speaks of first happens"
            .to_string(),
        header: strings(["run", "first seen"]),
        rows,
    })
}

/// Holding runs of each module. With one crash no two recoveries can be compared, so RD says nothing at the
/// reference bounds; the run with two crashes is the one that checks it.
pub const NOT_VACUOUS: &[&str] = &[
    "R0_reference",
    "R0_two_crashes",
    "R11/ref_holding",
    "R11/wide_race_idempotent_holding",
    "matrix/StateRebuild_off",
    "LGF/B_wide",
    "Parked/durable_wide_safety",
    "claim/one_transaction",
    "claim/two_writes",
];

fn strings<const N: usize>(items: [&str; N]) -> Vec<String> {
    items.iter().map(|s| s.to_string()).collect()
}

/// A number with commas between its thousands.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Table {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut out = match self.title.as_str() {
            "" => String::new(),
            title => format!("## {title}\n\n"),
        };
        out += &line(&self.header);
        out += &line(&vec!["---".to_string(); self.header.len()]);
        for row in &self.rows {
            out += &line(row);
        }
        out + "\n"
    }

    /// As aligned text.
    pub fn text(&self) -> String {
        let width = |i: usize| {
            let cells = std::iter::once(&self.header).chain(&self.rows);
            cells
                .filter_map(|r| r.get(i))
                .map(|c| c.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..self.header.len())
            .map(|i| width(i).unwrap_or(0))
            .collect();
        let mut out = match self.title.as_str() {
            "" => String::new(),
            title => format!("{title}\n"),
        };
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, w)| format!("{cell:<w$}"))
                .collect();
            out += cells.join("  ").trim_end();
            out.push('\n');
        }
        out + "\n"
    }
}

/// As JSON: one object for each run, with what is pinned beside what was counted.
pub fn json(rows: &[Row]) -> String {
    let counts = |c: &Counts| {
        format!(
            "{{\"generated\": {}, \"distinct\": {}, \"depth\": {}, \"verdict\": {}}}",
            c.generated,
            c.distinct,
            c.depth,
            quoted(&c.verdict)
        )
    };
    let object = |(run, counted): &Row| {
        format!(
            "  {{\"run\": {}, \"module\": {}, \"checked\": {}, \"counted\": {}, \"pinned\": {}}}",
            quoted(&run.name),
            quoted(&run.module),
            quoted(&run.checked),
            counts(counted),
            counts(&run.pinned)
        )
    };
    format!(
        "[\n{}\n]\n",
        rows.iter().map(object).collect::<Vec<_>>().join(",\n")
    )
}

/// A JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The text of `models/RESULTS.md` for these counts.
pub fn results(models: &Models, rows: &[Row]) -> Result<String, Error> {
    let mut out = String::from(
        "# Counts\n\n\
         `cargo run -p remit-model --release -- all --format markdown` prints this page; a test compares the two.\n\
         The numbers were first measured with TLC (breadth-first, one worker, deadlock checking off, no symmetry, no\n\
         view) and are in `results.csv`, one line for each of 248 runs; the checker counts the same. The runs named\n\
         `claim/` are not TLC's: their steps are decided by `remit-core` itself, and only the checker counted them.\n\
         Depth is the number of levels of a complete search, or the number of states of a counterexample. Generated\n\
         and distinct of a violated run are where the search stopped. In a matrix a dash says that the property holds,\n\
         and the counts are those of the row's complete search.\n\n",
    );
    for subject in SUBJECTS {
        for table in tables(subject, rows) {
            out += &table.markdown();
        }
        if subject.name == "check" {
            out += &sometimes(models)?.markdown();
        }
    }
    Ok(out.trim_end().to_string() + "\n")
}
