//! The grammar of the row ids that REMIT stores beside LangGraph's.
//!
//! Pending writes are keyed by a task id. REMIT files two kinds of rows under ids that LangGraph does not look
//! for, so that a stock saver that reads the same database ignores them:
//! `task|f<branch>` is a task's row on a fork, `task|a<n>` the answer waiting for the task's question `n`, and
//! `task|f<branch>|a<n>` both. A `|` never occurs in a LangGraph task id (a UUID).
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
}

/// Takes a row id apart. Whatever is not of the grammar is an ordinary task id.
pub fn parse(id: &str) -> Row {
    let ordinary = || Row {
        task: id.to_string(),
        branch: None,
        waits_for: None,
    };
    let mut parts = id.split('|');
    let Some(task) = parts.next() else {
        return ordinary();
    };
    let mut row = Row {
        task: task.to_string(),
        branch: None,
        waits_for: None,
    };
    for part in parts {
        match (part.get(..1), part.get(1..)) {
            (Some("f"), Some(branch)) if row.branch.is_none() && row.waits_for.is_none() => {
                row.branch = Some(branch.to_string());
            }
            (Some("a"), Some(n)) if row.waits_for.is_none() => match n.parse() {
                Ok(n) => row.waits_for = Some(n),
                Err(_) => return ordinary(),
            },
            _ => return ordinary(),
        }
    }
    row
}

/// Puts a row id together.
pub fn format(task: &str, branch: Option<&str>, waits_for: Option<usize>) -> String {
    let mut id = String::from(task);
    if let Some(branch) = branch {
        id.push_str("|f");
        id.push_str(branch);
    }
    if let Some(n) = waits_for {
        id.push_str(&format!("|a{n}"));
    }
    id
}

/// The name of a branch: the checkpoint it forks from, and its ordinal there.
pub fn branch(checkpoint: &str, ordinal: usize) -> String {
    format!("{checkpoint}.{ordinal}")
}

/// Does a new checkpoint sort behind its parent? Checkpoint ids are compared as text, as every saver does.
pub fn follows(parent: &str, id: &str) -> bool {
    id > parent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_formatted_is_parsed() {
        for branch in [None, Some("1ef0-8.3"), Some("")] {
            for n in [None, Some(0), Some(41)] {
                let row = parse(&format("2b1c", branch, n));
                assert_eq!(
                    (row.task.as_str(), row.branch.as_deref(), row.waits_for),
                    ("2b1c", branch, n)
                );
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        for id in [
            "", "|", "a|b", "t|a", "t|ax", "t|a1|fx", "t|a1|a2", "t|é", "ün|ü",
        ] {
            assert_eq!(parse(id).task, id);
        }
    }
}
