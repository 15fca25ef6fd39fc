//! The grammar of the row ids that REMIT stores beside LangGraph's.
//!
//! Pending writes are keyed by a task id. REMIT files rows under ids that LangGraph does not look for, so that a stock
//! saver that reads the same database passes them over: `task|f<branch>` is a task's row on a fork, `task|a<n>` the
//! answer waiting for the task's question `n`, `task|q` the question that a task asks on a fork (LangGraph counts
//! `__interrupt__` rows under any id, so it is not stored as one). A `|` never occurs in a LangGraph task id (a UUID).
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
}

/// Takes a row id apart. Whatever is not of the grammar is an ordinary task id.
pub fn parse(id: &str) -> Row {
    let ordinary = || Row {
        task: id.to_string(),
        branch: None,
        waits_for: None,
        asks: false,
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
    };
    for part in parts {
        let last = row.waits_for.is_some() || row.asks;
        match (part.get(..1), part.get(1..)) {
            (Some("f"), Some(branch)) if row.branch.is_none() && !last => {
                row.branch = Some(branch.to_string());
            }
            (Some("q"), Some("")) if !last => row.asks = true,
            (Some("a"), Some(n)) if !last => match n.parse() {
                Ok(n) => row.waits_for = Some(n),
                Err(_) => return ordinary(),
            },
            _ => return ordinary(),
        }
    }
    row
}

/// Puts a row id together.
pub fn format(task: &str, branch: Option<&str>, waits_for: Option<usize>, asks: bool) -> String {
    let mut id = String::from(task);
    if let Some(branch) = branch {
        id.push_str("|f");
        id.push_str(branch);
    }
    if let Some(n) = waits_for {
        id.push_str(&format!("|a{n}"));
    } else if asks {
        id.push_str("|q");
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
        .strip_prefix('.')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_formatted_is_parsed() {
        for branch in [None, Some("1ef0-8.3"), Some("")] {
            for (n, asks) in [
                (None, false),
                (None, true),
                (Some(0), false),
                (Some(41), false),
            ] {
                let row = parse(&format("2b1c", branch, n, asks));
                assert_eq!(
                    (
                        row.task.as_str(),
                        row.branch.as_deref(),
                        row.waits_for,
                        row.asks
                    ),
                    ("2b1c", branch, n, asks)
                );
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
