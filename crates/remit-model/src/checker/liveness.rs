//! Liveness under weak fairness: is there a fair behaviour that never reaches the goal?
//!
//! Such a behaviour stays, from some time on, inside one strongly connected part of the states that are reached
//! without passing a goal (a single state will do: TLA+ behaviours may stutter for ever). Weak fairness of an action
//! forbids that the action stays possible and is never taken. So a part is a counterexample iff for each fairness
//! condition it has a state where the action is impossible, or a step of that action inside. More states never hurt
//! here, so it suffices to look at the maximal parts.
use super::{steps, Step, System, Visited};
use crate::bits::Reader;
use std::collections::VecDeque;

/// A step inside the graph: where to, and its fairness condition.
#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    fair: Option<usize>,
}

struct Graph {
    /// By place of the state. Goals have no edges, and none lead to them.
    edges: Vec<Vec<Edge>>,
    /// By place: the fairness conditions whose actions are possible, steps to goals included.
    possible: Vec<Vec<bool>>,
    /// By place: reached from the initial state without passing a goal, and from where.
    reached: Vec<Option<u32>>,
    /// The places reached, nearest first.
    order: Vec<u32>,
}

/// A path and a loop that together are a fair behaviour without a goal, if there is one.
pub fn unfair_to_goal<S: System>(system: &S, seen: &Visited) -> Option<(Vec<Step>, Vec<Step>)> {
    let graph = build(system, seen);
    let part = components(&graph);
    // nearest first: the path is a shortest one
    let entry = *graph
        .order
        .iter()
        .find(|&&place| is_fair::<S>(&graph, &part, part[place as usize]))?;
    let mut path = vec![entry];
    while let Some(&first) = path.first() {
        match graph.reached[first as usize] {
            Some(parent) if parent != first => path.insert(0, parent),
            _ => break,
        }
    }
    let round = tour::<S>(&graph, &part, entry);
    Some((
        steps(system, seen, None, &path),
        steps(system, seen, Some(entry), &round),
    ))
}

fn build<S: System>(system: &S, seen: &Visited) -> Graph {
    let n = seen.len() as usize;
    let mut graph = Graph {
        edges: vec![Vec::new(); n],
        possible: vec![vec![false; S::FAIR]; n],
        reached: vec![None; n],
        order: Vec::new(),
    };
    let mut queue = VecDeque::new();
    if n > 0 && !system.is_goal(&system.unpack(&mut Reader::new(seen.code(0)))) {
        graph.reached[0] = Some(0);
        queue.push_back(0);
    }
    while let Some(place) = queue.pop_front() {
        graph.order.push(place);
        let state = system.unpack(&mut Reader::new(seen.code(place)));
        system.next(&state, &mut |action, successor| {
            let fair = S::fair(&action);
            // fairness speaks of steps that change something
            if let Some(condition) = fair.filter(|_| successor != state) {
                graph.possible[place as usize][condition] = true;
            }
            let to = super::code(system, &successor)
                .ok()
                .and_then(|code| seen.place(code));
            if let Some(to) = to.filter(|_| !system.is_goal(&successor)) {
                graph.edges[place as usize].push(Edge { to, fair });
                if graph.reached[to as usize].is_none() {
                    graph.reached[to as usize] = Some(place);
                    queue.push_back(to);
                }
            }
        });
    }
    graph
}

/// Does a behaviour that visits all of this part for ever meet every fairness condition?
fn is_fair<S: System>(graph: &Graph, part: &[u32], this: u32) -> bool {
    (0..S::FAIR).all(|c| witness(graph, part, this, c).is_some())
}

/// Where in a part a condition is met: a state where the action is impossible, or a step of it inside.
fn witness(graph: &Graph, part: &[u32], this: u32, condition: usize) -> Option<(u32, Option<u32>)> {
    let inside = graph.order.iter().filter(|&&p| part[p as usize] == this);
    for &place in inside {
        if !graph.possible[place as usize][condition] {
            return Some((place, None));
        }
        let taken = graph.edges[place as usize]
            .iter()
            .find(|e| e.fair == Some(condition) && e.to != place && part[e.to as usize] == this);
        if let Some(edge) = taken {
            return Some((place, Some(edge.to)));
        }
    }
    None
}

/// A round trip from `entry` through a witness of each condition. Empty if the behaviour just stands still.
fn tour<S: System>(graph: &Graph, part: &[u32], entry: u32) -> Vec<u32> {
    let this = part[entry as usize];
    let mut round = Vec::new();
    let mut at = entry;
    for condition in 0..S::FAIR {
        if let Some((place, step)) = witness(graph, part, this, condition) {
            round.extend(inside(graph, part, at, place));
            at = place;
            if let Some(to) = step {
                round.push(to);
                at = to;
            }
        }
    }
    round.extend(inside(graph, part, at, entry));
    round
}

/// A shortest path inside a part, without its first state.
fn inside(graph: &Graph, part: &[u32], from: u32, to: u32) -> Vec<u32> {
    let mut before = vec![None; graph.edges.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(place) = queue.pop_front() {
        for edge in &graph.edges[place as usize] {
            let next = edge.to as usize;
            if part[next] == part[from as usize] && edge.to != from && before[next].is_none() {
                before[next] = Some(place);
                queue.push_back(edge.to);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        path.push(at);
        match before[at as usize] {
            Some(place) => at = place,
            None => return Vec::new(),
        }
    }
    path.reverse();
    path
}

/// Tarjan's algorithm, without recursion: the number of each state's strongly connected part.
fn components(graph: &Graph) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let n = graph.edges.len();
    let (mut index, mut low, mut part) = (vec![NONE; n], vec![NONE; n], vec![NONE; n]);
    let (mut stack, mut counter) = (Vec::new(), 0);
    for &root in &graph.order {
        if index[root as usize] != NONE {
            continue;
        }
        // a state and how many of its edges were followed
        let mut calls = vec![(root, 0)];
        while let Some((place, followed)) = calls.pop() {
            let p = place as usize;
            if followed == 0 {
                index[p] = counter;
                low[p] = counter;
                counter += 1;
                stack.push(place);
            } else {
                let child = graph.edges[p][followed - 1].to as usize;
                if part[child] == NONE {
                    low[p] = low[p].min(low[child]);
                }
            }
            if let Some(edge) = graph.edges[p].get(followed) {
                calls.push((place, followed + 1));
                if index[edge.to as usize] == NONE {
                    calls.push((edge.to, 0));
                }
                continue;
            }
            if low[p] == index[p] {
                while let Some(member) = stack.pop() {
                    part[member as usize] = place;
                    if member == place {
                        break;
                    }
                }
            }
        }
    }
    part
}
