//! The grammar of the row ids that REMIT stores beside LangGraph's.
//!
//! Pending writes are keyed by a task id. REMIT files rows under ids that LangGraph does not look for, so that a stock
//! saver that reads the same database passes them over: `task|f<branch>` is a task's row on a fork, `task|a<n>` the
//! answer waiting for the task's question `n`, `task|q` the question that a task asks on a fork (LangGraph counts
//! `__interrupt__` rows under any id, so it is not stored as one), `task|x<n>` what a task put out in its `n`-th
//! attempt, after what it had put out before was refused. A `|` never occurs in a LangGraph task id (a UUID).
use alloc::format;
use alloc::string::{String, ToString};

/// A row id, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The task's id as LangGraph knows it.
    pub task: String,
    /// The fork that the row belongs to.
    pub branch: Option<String>,
    /// The question for which the row holds the answer.
    pub waits_for: Option<usize>,
    /// The row holds the question that the task asks.
    pub asks: bool,
    /// The attempt whose outputs the row holds, from 1.
    pub attempt: Option<usize>,
}

/// Takes a row id apart. Whatever is not of the grammar is an ordinary task id.
pub fn parse(id: &str) -> Row {
    let ordinary = || Row {
        task: id.to_string(),
        branch: None,
        waits_for: None,
        asks: false,
        attempt: None,
    };
    let mut parts = id.split('|');
    let Some(task) = parts.next() else {
        return ordinary();
    };
    let mut row = Row {
        task: task.to_string(),
        branch: None,
        waits_for: None,
        asks: false,
        attempt: None,
    };
    for part in parts {
        let last = row.waits_for.is_some() || row.asks || row.attempt.is_some();
        match (part.get(..1), part.get(1..)) {
            (Some("f"), Some(branch)) if row.branch.is_none() && !last => {
                row.branch = Some(branch.to_string());
            }
            (Some("q"), Some("")) if !last => row.asks = true,
            (Some("x"), Some(n)) if !last => match number(n) {
                Some(n) => row.attempt = Some(n),
                None => return ordinary(),
            },
            (Some("a"), Some(n)) if !last => match number(n) {
                Some(n) => row.waits_for = Some(n),
                None => return ordinary(),
            },
            _ => return ordinary(),
        }
    }
    row
}

/// A number as `format` writes it: a row has one id.
fn number(text: &str) -> Option<usize> {
    let n: usize = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}

/// What a row is for, besides its task and branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The task's own row.
    Own,
    /// The answer waiting for this question.
    Waiting(usize),
    /// The question that the task asks.
    Question,
    /// What the task put out in this attempt.
    Attempt(usize),
}

/// Puts a row id together.
pub fn format(task: &str, branch: Option<&str>, part: Part) -> String {
    let mut id = String::from(task);
    if let Some(branch) = branch {
        id.push_str("|f");
        id.push_str(branch);
    }
    match part {
        Part::Own => {}
        Part::Waiting(n) => id.push_str(&format!("|a{n}")),
        Part::Question => id.push_str("|q"),
        Part::Attempt(n) => id.push_str(&format!("|x{n}")),
    }
    id
}

/// The name of a branch: the checkpoint it forks from, and its ordinal there.
pub fn branch(checkpoint: &str, ordinal: usize) -> String {
    format!("{checkpoint}.{ordinal}")
}

/// The ordinal of a branch that forks from this checkpoint.
pub fn ordinal(branch: &str, checkpoint: &str) -> Option<usize> {
    branch
        .strip_prefix(checkpoint)?
        .strip_prefix('.')
        .and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_formatted_is_parsed() {
        for branch in [None, Some("1ef0-8.3"), Some("")] {
            for part in [
                Part::Own,
                Part::Question,
                Part::Waiting(0),
                Part::Waiting(41),
                Part::Attempt(1),
            ] {
                let row = parse(&format("2b1c", branch, part));
                assert_eq!((row.task.as_str(), row.branch.as_deref()), ("2b1c", branch));
                let back = match (row.waits_for, row.asks, row.attempt) {
                    (None, false, None) => Part::Own,
                    (Some(n), false, None) => Part::Waiting(n),
                    (None, true, None) => Part::Question,
                    (None, false, Some(n)) => Part::Attempt(n),
                    _ => unreachable!("one part at most"),
                };
                assert_eq!(back, part);
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        for id in [
            "", "|", "a|b", "t|a", "t|ax", "t|a1|fx", "t|a1|a2", "t|q|q", "t|q1", "t|q|a1", "t|é",
            "ün|ü",
        ] {
            assert_eq!(parse(id).task, id);
        }
    }
}
