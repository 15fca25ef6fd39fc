//! The checker on systems small enough to count by hand.
use super::*;

/// A graph drawn as a list of steps: from, to, fairness condition.
struct Drawing {
    steps: &'static [(u8, u8, Option<usize>)],
    goal: u8,
}

#[derive(Clone, Copy)]
struct Move(u8, Option<usize>);

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to {}", self.0)
    }
}

impl System for Drawing {
    type State = u8;
    type Action = Move;
    const FAIR: usize = 2;

    fn init(&self) -> u8 {
        0
    }

    fn next(&self, s: &u8, step: &mut impl FnMut(Move, u8)) {
        for (_, to, fair) in self.steps.iter().filter(|(from, _, _)| from == s) {
            step(Move(*to, *fair), *to);
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property {
                name: "below 4",
                always: |_, s| *s < 4,
                sometimes: |_, s| *s == 3,
            },
            Property {
                name: "any",
                always: |_, _| true,
                sometimes: |_, s| *s == 200,
            },
        ]
    }

    fn is_goal(&self, s: &u8) -> bool {
        *s == self.goal
    }

    fn fair(a: &Move) -> Option<usize> {
        a.1
    }

    fn event(a: &Move) -> Option<&'static str> {
        [None, Some("one"), None, Some("three")]
            .get(usize::from(a.0))
            .copied()
            .flatten()
    }

    fn pack(&self, s: &u8, w: &mut Writer) {
        w.number(usize::from(*s), 3);
    }

    fn unpack(&self, r: &mut Reader) -> u8 {
        r.number(3) as u8
    }

    fn variables(&self, s: &u8) -> Vec<(&'static str, String)> {
        vec![("s", s.to_string())]
    }
}

fn run(
    steps: &'static [(u8, u8, Option<usize>)],
    invariants: &[&str],
    goal: Option<u8>,
) -> Result<Outcome, Error> {
    let names: Vec<String> = invariants.iter().map(|s| s.to_string()).collect();
    let system = Drawing {
        steps,
        goal: goal.unwrap_or(255),
    };
    check(&system, &names, goal.is_some(), &mut |_| {})
}

fn states(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|s| s.variables[0].1.as_str()).collect()
}

/// 0 - 1 - 3 and 0 - 2 - 3 - 5, 3 twice.
const DIAMOND: &[(u8, u8, Option<usize>)] = &[
    (0, 1, None),
    (0, 2, None),
    (1, 3, None),
    (2, 3, None),
    (3, 5, None),
    (3, 3, None),
];

#[test]
fn counts_are_tlc_s() -> Result<(), Error> {
    let o = run(DIAMOND, &["any"], None)?;
    assert_eq!((o.generated, o.distinct, o.depth), (7, 5, 4));
    assert_eq!(o.verdict, Verdict::Holds);
    assert_eq!(o.sometimes, [("any", None)]);
    assert_eq!(o.events, [("one", 2), ("three", 3)]);
    Ok(())
}

#[test]
fn a_broken_invariant_ends_the_search_with_a_shortest_path() -> Result<(), Error> {
    let o = run(DIAMOND, &["any", "below 4"], None)?;
    // the loop at 3 is not produced any more
    assert_eq!((o.generated, o.distinct, o.depth), (6, 5, 4));
    assert_eq!(o.sometimes, [("any", None), ("below 4", Some(3))]);
    let Verdict::Violated { property, path, .. } = o.verdict else {
        return Err(Error::Configuration("holds".to_string()));
    };
    assert_eq!(property, "below 4");
    assert_eq!(states(&path), ["0", "1", "3", "5"]);
    assert_eq!(path[3].action, "to 5");
    Ok(())
}

#[test]
fn what_cannot_be_answered_is_an_error() {
    assert_eq!(
        run(DIAMOND, &["no such"], None),
        Err(Error::NoSuchProperty("no such".to_string()))
    );
    let wide = run(&[(0, 8, None)], &[], None);
    assert_eq!(wide, Err(Error::StateTooWide("8".to_string())));
}

/// The states of a path, and of the loop behind it.
type Lasso = (Vec<String>, Vec<String>);

/// A fair behaviour that never gets to 3.
fn starves(steps: &'static [(u8, u8, Option<usize>)]) -> Result<Option<Lasso>, Error> {
    let owned = |s: &[Step]| states(s).iter().map(|s| s.to_string()).collect();
    Ok(match run(steps, &[], Some(3))?.verdict {
        Verdict::Holds => None,
        Verdict::Violated { path, forever, .. } => Some((owned(&path), owned(&forever))),
    })
}

#[test]
fn weak_fairness_decides_which_loops_count() -> Result<(), Error> {
    let lasso = |path: &[&str], forever: &[&str]| {
        let owned = |s: &[&str]| s.iter().map(|s| s.to_string()).collect();
        Some((owned(path), owned(forever)))
    };
    // an unfair step need not be taken: the behaviour stands still at 0
    assert_eq!(starves(&[(0, 3, None)])?, lasso(&["0"], &[]));
    // a fair one must be
    assert_eq!(starves(&[(0, 3, Some(0))])?, None);
    // the exit is possible all the time while the loop goes round, so it must be taken
    assert_eq!(
        starves(&[(0, 1, None), (1, 0, None), (0, 3, Some(0)), (1, 3, Some(0))])?,
        None
    );
    // it is impossible at 1, again and again: weak fairness does not force it
    assert_eq!(
        starves(&[(0, 1, None), (1, 0, None), (0, 3, Some(0))])?,
        lasso(&["0"], &["1", "0"])
    );
    // fair steps inside the loop meet their own condition, and not another's
    assert_eq!(
        starves(&[
            (0, 1, Some(0)),
            (1, 0, Some(0)),
            (0, 3, Some(1)),
            (1, 3, Some(1))
        ])?,
        None
    );
    // standing still at 2, one fair step away from 0, where no fair step is left
    assert_eq!(
        starves(&[(0, 2, Some(0)), (0, 3, Some(0))])?,
        lasso(&["0", "2"], &[])
    );
    // a step that changes nothing is not one that fairness forces
    assert_eq!(starves(&[(0, 0, Some(0))])?, lasso(&["0"], &[]));
    // behind a goal nothing counts
    assert_eq!(starves(&[(0, 3, Some(0)), (3, 1, None)])?, None);
    Ok(())
}
