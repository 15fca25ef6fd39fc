//! The steps of the contract's modules.
use std::fmt;
use std::str::FromStr;

/// What a recovery decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Decision {
    /// Go on behind the durable frontier.
    #[default]
    Skip,
    /// Run something durable again.
    Reexec,
}

/// A step, with its parameter. Answers are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Run the task at pc and commit it.
    ExecTask,
    /// Park at the gate.
    EmitInterrupt,
    /// Take an answer, fire the gated effect, commit the gated task.
    Consume(u8),
    /// Answer the consumed interrupt again, as a branch.
    ForkResume(u8),
    /// Crash, recover and decide.
    CrashRecover(Decision),
    /// A stray resume of a completed run.
    ExtraResume,
    /// A second consumer that read before the first one wrote (R11_ConsumeCount).
    RaceConsume(u8),
    /// Crash while parked (ResumeContractParked).
    CrashParked(Decision),
}

impl Action {
    /// Its weak fairness condition, in the order of the module's `Fairness`.
    pub fn fair(&self) -> Option<usize> {
        match self {
            Action::ExecTask => Some(0),
            Action::EmitInterrupt => Some(1),
            Action::Consume(_) => Some(2),
            _ => None,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decision::Skip => "skip",
            Decision::Reexec => "reexec",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::ExecTask => write!(f, "ExecTask"),
            Action::EmitInterrupt => write!(f, "EmitInterrupt"),
            Action::Consume(v) => write!(f, "Consume(v{v})"),
            Action::ForkResume(v) => write!(f, "ForkResume(v{v})"),
            Action::CrashRecover(d) => write!(f, "CrashRecover({d})"),
            Action::ExtraResume => write!(f, "ExtraResume"),
            Action::RaceConsume(v) => write!(f, "RaceConsume(v{v})"),
            Action::CrashParked(d) => write!(f, "CrashParked({d})"),
        }
    }
}

impl FromStr for Action {
    type Err = String;

    /// Reads what `Display` wrote.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, parameter) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
            None => (text, ""),
        };
        let value = || parameter.strip_prefix('v').and_then(|v| v.parse().ok());
        let decision = || match parameter {
            "skip" => Some(Decision::Skip),
            "reexec" => Some(Decision::Reexec),
            _ => None,
        };
        match name {
            "ExecTask" => Some(Action::ExecTask),
            "EmitInterrupt" => Some(Action::EmitInterrupt),
            "Consume" => value().map(Action::Consume),
            "ForkResume" => value().map(Action::ForkResume),
            "CrashRecover" => decision().map(Action::CrashRecover),
            "ExtraResume" => Some(Action::ExtraResume),
            "RaceConsume" => value().map(Action::RaceConsume),
            "CrashParked" => decision().map(Action::CrashParked),
            _ => None,
        }
        .ok_or_else(|| format!("not an action: {text}"))
    }
}
