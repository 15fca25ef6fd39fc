// The durable effect under any number of callers and effects: arbitrary interleaving, crashes on either side of firing,
// lost answers, late and repeated words, a person's word that may be wrong, leases and claims that end meanwhile.
// The transition function of a row is `decide_spec` of effect_spec.rs, the specification of the shipped code. Whether a
// caller may execute is what claim_system.rs says of its claim at that moment.
use super::claim_spec;
use super::claim_system;
use super::effect::*;
use super::effect_spec::*;
use vstd::prelude::*;

verus! {

// ---------------------------------------------------------------------------------------------
// World
// ---------------------------------------------------------------------------------------------

/// What a row is keyed by.
pub struct Name {
    pub branch: nat,
    pub task: nat,
    pub effect: nat,
    pub key: nat,
}

/// One admission, and what an onlooker knows of it.
pub struct Admission {
    pub owner: u64,
    pub fired: Option<nat>,    // what it returned, if it has fired
    pub overruled: bool,       // a user's retry or a person's word has passed over it
}

/// One row of the store, and what an onlooker remembers of it.
pub struct Row {
    pub effect: Effect,
    pub result: Option<nat>,               // recorded with the word that it has fired
    pub admissions: Seq<Admission>,        // every admission so far, in order
}

/// What a caller has in hand.
pub enum Belief {
    Idle,
    Admitted { name: Name, fence: u64 },
}

pub struct World {
    pub claims: claim_system::World,       // its time is the store's
    pub rows: Map<Name, Row>,              // absent: never touched
    pub callers: Map<u64, Belief>,         // absent: idle
}

pub open spec fn fresh_row() -> Row {
    Row { effect: fresh_spec(), result: None, admissions: Seq::empty() }
}

pub open spec fn row(w: World, n: Name) -> Row {
    if w.rows.dom().contains(n) { w.rows[n] } else { fresh_row() }
}

pub open spec fn belief(w: World, c: u64) -> Belief {
    if w.callers.dom().contains(c) { w.callers[c] } else { Belief::Idle }
}

pub open spec fn set_row(w: World, n: Name, r: Row) -> World {
    World { rows: w.rows.insert(n, r), ..w }
}

pub open spec fn set_belief(w: World, c: u64, b: Belief) -> World {
    World { callers: w.callers.insert(c, b), ..w }
}

pub open spec fn init() -> World {
    World { claims: claim_system::init(), rows: Map::empty(), callers: Map::empty() }
}

/// The caller may still fire under this admission.
pub open spec fn carries(w: World, c: u64, n: Name, f: u64) -> bool {
    belief(w, c) == (Belief::Admitted { name: n, fence: f })
}

/// The owner of this admission is gone: nobody will fire under it any more.
pub open spec fn gone(w: World, n: Name, f: u64) -> bool {
    forall|c: u64| !(#[trigger] carries(w, c, n, f))
}

// ---------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------

pub open spec fn overrule(a: Admission) -> Admission {
    Admission { overruled: true, ..a }
}

/// A user who asks for a retry passes over the admission that is not settled.
pub open spec fn passed_over(r: Row, i: Input) -> Seq<Admission> {
    match (r.effect.state, i) {
        (
            State::Admitted { fence, until: _ },
            Input::Admit { now: _, lease: _, holds: _, same: _, owner: _, doubt: Doubt::Retry },
        ) => r.admissions.update(fence - 1, overrule(r.admissions[fence - 1])),
        _ => r.admissions,
    }
}

/// The store takes a request.
pub open spec fn asked(r: Row, c: u64, i: Input) -> Row {
    let d = decide_spec(r.effect, i);
    if d.1 is Fresh {
        Row {
            effect: d.0,
            result: r.result,
            admissions: passed_over(r, i).push(Admission { owner: c, fired: None, overruled: false }),
        }
    } else {
        Row { effect: d.0, ..r }
    }
}

/// The store takes a word on what became of an admission.
pub open spec fn deliver(r: Row, i: Input, value: nat) -> Row {
    let d = decide_spec(r.effect, i);
    if d.1 is Accepted {
        Row {
            effect: d.0,
            result: if d.0.state is Done { Some(value) } else { r.result },
            admissions: match i {
                Input::Resolve { now: _, fence, owner: _, fired: _ } =>
                    r.admissions.update(fence - 1, overrule(r.admissions[fence - 1])),
                _ => r.admissions,
            },
        }
    } else {
        Row { effect: d.0, ..r }
    }
}

/// The effect takes place in the world outside.
pub open spec fn fire(r: Row, f: u64, value: nat) -> Row {
    let a = r.admissions[f - 1];
    Row { admissions: r.admissions.update(f - 1, Admission { fired: Some(value), ..a }), ..r }
}

/// An owner's words are true: it fired and this is what it returned, or it did not and will not. A person may be wrong.
pub open spec fn is_true(w: World, n: Name, i: Input, value: nat) -> bool {
    let r = row(w, n);
    match i {
        Input::Admit { now: _, lease: _, holds: _, same: _, owner: _, doubt: _ } => false,
        Input::Done { fence } => 1 <= fence <= r.admissions.len() ==> r.admissions[fence - 1].fired == Some(value),
        Input::Release { fence } => 1 <= fence <= r.admissions.len() ==> r.admissions[fence - 1].fired is None && gone(
            w,
            n,
            fence,
        ),
        Input::Resolve { now, fence: _, owner: _, fired: _ } => now <= w.claims.now,
    }
}

/// A caller's request.
pub struct Request {
    pub caller: u64,
    pub name: Name,
    pub key: claim_system::Key,    // its claim,
    pub grant: u64,                // and its grant of it
    pub now: u64,
    pub lease: u64,
    pub same: bool,
    pub owner: Owner,              // what it sees of the last owner: right or wrong
    pub doubt: Doubt,
    pub heard: bool,               // the answer arrives
}

/// The caller holds its claim.
pub open spec fn holds_claim(w: World, q: Request) -> bool {
    claim_spec::holds(claim_system::cell(w.claims, q.key).claim, q.caller, q.grant)
}

/// What is asked of the row: that the caller holds its claim is read in the same step.
pub open spec fn input_of(w: World, q: Request) -> Input {
    Input::Admit {
        now: q.now,
        lease: q.lease,
        holds: holds_claim(w, q),
        same: q.same,
        owner: q.owner,
        doubt: q.doubt,
    }
}

pub enum Step {
    // Whatever happens to the claims, and the clock.
    Claims { step: claim_system::Step },
    // A caller asks to fire an effect. Where the answer is not heard, the caller is gone or does not know.
    Ask { request: Request },
    Fire { caller: u64, value: nat },
    // A word on any admission, at any time, as often as it likes.
    Say { name: Name, input: Input, value: nat },
    // The caller is through with the effect, or dies: before it fired or after, before its word or after.
    Leave { caller: u64 },
}

pub open spec fn enabled(w: World, s: Step) -> bool {
    match s {
        Step::Claims { step } => claim_system::enabled(w.claims, step),
        Step::Ask { request } => belief(w, request.caller) is Idle && request.now <= w.claims.now,
        Step::Fire { caller, value: _ } => match belief(w, caller) {
            Belief::Admitted { name, fence } => row(w, name).admissions[fence - 1].fired is None,
            Belief::Idle => false,
        },
        Step::Say { name, input, value } => is_true(w, name, input, value),
        Step::Leave { caller: _ } => true,
    }
}

pub open spec fn ask(w: World, q: Request) -> World {
    let i = input_of(w, q);
    let w2 = set_row(w, q.name, asked(row(w, q.name), q.caller, i));
    match decide_spec(row(w, q.name).effect, i).1 {
        Verdict::Fresh { fence, until: _ } =>
            if q.heard { set_belief(w2, q.caller, Belief::Admitted { name: q.name, fence }) } else { w2 },
        _ => w2,
    }
}

pub open spec fn step(w: World, s: Step) -> World {
    match s {
        Step::Claims { step } => World { claims: claim_system::step(w.claims, step), ..w },
        Step::Ask { request } => ask(w, request),
        Step::Fire { caller, value } => match belief(w, caller) {
            Belief::Admitted { name, fence } => set_row(w, name, fire(row(w, name), fence, value)),
            Belief::Idle => w,
        },
        Step::Say { name, input, value } => set_row(w, name, deliver(row(w, name), input, value)),
        Step::Leave { caller } => set_belief(w, caller, Belief::Idle),
    }
}

pub open spec fn legal(w: World, steps: Seq<Step>) -> bool
    decreases steps.len(),
{
    steps.len() == 0 || (legal(w, steps.drop_last()) && enabled(
        run(w, steps.drop_last()),
        steps.last(),
    ))
}

pub open spec fn run(w: World, steps: Seq<Step>) -> World
    decreases steps.len(),
{
    if steps.len() == 0 { w } else { step(run(w, steps.drop_last()), steps.last()) }
}

// ---------------------------------------------------------------------------------------------
// Invariant
// ---------------------------------------------------------------------------------------------

/// The last admission, and it was not released.
pub open spec fn stands(r: Row, f: int) -> bool {
    f == r.effect.last && !(r.effect.state is Free)
}

/// The admission with index i stands, or it was passed over by wish, or it has not fired.
pub open spec fn accounted(r: Row, i: int) -> bool {
    ||| r.admissions[i].overruled
    ||| stands(r, i + 1)
    ||| r.admissions[i].fired is None
}

pub open spec fn all_accounted(r: Row) -> bool {
    forall|i: int| 0 <= i < r.admissions.len() ==> #[trigger] accounted(r, i)
}

/// A result is recorded exactly where the effect is done, and it is the one that it returned.
pub open spec fn recorded(r: Row) -> bool {
    match r.effect.state {
        State::Done { fence } => r.result is Some && (r.admissions[fence - 1].overruled
            || r.admissions[fence - 1].fired == r.result),
        _ => r.result is None,
    }
}

pub open spec fn row_inv(r: Row) -> bool {
    &&& wf(r.effect)
    &&& r.admissions.len() == r.effect.last
    &&& recorded(r)
    &&& all_accounted(r)
}

/// The caller was admitted under this fence, and it stands or was passed over by wish.
pub open spec fn fits(r: Row, c: u64, f: u64) -> bool {
    &&& 1 <= f <= r.admissions.len()
    &&& r.admissions[f - 1].owner == c
    &&& r.admissions[f - 1].overruled || stands(r, f as int)
}

pub open spec fn caller_ok(w: World, c: u64) -> bool {
    match belief(w, c) {
        Belief::Idle => true,
        Belief::Admitted { name, fence } => fits(row(w, name), c, fence),
    }
}

pub open spec fn inv(w: World) -> bool {
    &&& claim_system::inv(w.claims)
    &&& forall|n: Name| row_inv(#[trigger] row(w, n))
    &&& forall|c: u64| #[trigger] caller_ok(w, c)
}

// ---------------------------------------------------------------------------------------------
// Preservation: one row
// ---------------------------------------------------------------------------------------------

proof fn asked_accounts(r: Row, c: u64, i: Input, j: int)
    requires
        row_inv(r),
        i is Admit,
        0 <= j < asked(r, c, i).admissions.len(),
    ensures
        accounted(asked(r, c, i), j),
{
    if j < r.admissions.len() {
        assert(accounted(r, j));
    }
}

proof fn asked_keeps(r: Row, c: u64, i: Input)
    requires
        row_inv(r),
        i is Admit,
    ensures
        row_inv(asked(r, c, i)),
        decide_spec(r.effect, i).1 is Fresh ==> fits(asked(r, c, i), c, asked(r, c, i).effect.last),
{
    let y = asked(r, c, i);
    assert(wf(y.effect));
    assert(y.admissions.len() == y.effect.last);
    assert(recorded(y));
    assert forall|j: int| 0 <= j < y.admissions.len() implies #[trigger] accounted(y, j) by {
        asked_accounts(r, c, i, j);
    }
}

/// Whoever was admitted before still fits.
proof fn asked_fits(r: Row, c: u64, i: Input, other: u64, f: u64)
    requires
        row_inv(r),
        i is Admit,
        fits(r, other, f),
    ensures
        fits(asked(r, c, i), other, f),
{
}

/// What a word must be for the row's sake.
pub open spec fn is_true_of(r: Row, i: Input, value: nat) -> bool {
    match i {
        Input::Admit { now: _, lease: _, holds: _, same: _, owner: _, doubt: _ } => false,
        Input::Done { fence } => 1 <= fence <= r.admissions.len() ==> r.admissions[fence - 1].fired == Some(value),
        Input::Release { fence } => 1 <= fence <= r.admissions.len() ==> r.admissions[fence - 1].fired is None,
        Input::Resolve { now: _, fence: _, owner: _, fired: _ } => true,
    }
}

pub open spec fn releases(i: Input, f: u64) -> bool {
    match i {
        Input::Release { fence } => fence == f,
        _ => false,
    }
}

proof fn deliver_accounts(r: Row, i: Input, value: nat, j: int)
    requires
        row_inv(r),
        is_true_of(r, i, value),
        0 <= j < deliver(r, i, value).admissions.len(),
    ensures
        accounted(deliver(r, i, value), j),
{
    assert(accounted(r, j));
}

proof fn deliver_keeps(r: Row, i: Input, value: nat)
    requires
        row_inv(r),
        is_true_of(r, i, value),
    ensures
        row_inv(deliver(r, i, value)),
{
    let y = deliver(r, i, value);
    assert(wf(y.effect));
    assert(y.admissions.len() == y.effect.last);
    assert(recorded(y));
    assert forall|j: int| 0 <= j < y.admissions.len() implies #[trigger] accounted(y, j) by {
        deliver_accounts(r, i, value, j);
    }
}

/// Whoever was admitted and did not give it back still fits.
proof fn deliver_fits(r: Row, i: Input, value: nat, c: u64, f: u64)
    requires
        row_inv(r),
        is_true_of(r, i, value),
        fits(r, c, f),
        !releases(i, f),
    ensures
        fits(deliver(r, i, value), c, f),
{
}

proof fn fire_accounts(r: Row, c: u64, f: u64, value: nat, j: int)
    requires
        row_inv(r),
        fits(r, c, f),
        0 <= j < fire(r, f, value).admissions.len(),
    ensures
        accounted(fire(r, f, value), j),
{
    assert(accounted(r, j));
}

proof fn fire_keeps(r: Row, c: u64, f: u64, value: nat)
    requires
        row_inv(r),
        fits(r, c, f),
        r.admissions[f - 1].fired is None,
    ensures
        row_inv(fire(r, f, value)),
{
    let y = fire(r, f, value);
    assert(recorded(y));
    assert forall|j: int| 0 <= j < y.admissions.len() implies #[trigger] accounted(y, j) by {
        fire_accounts(r, c, f, value, j);
    }
}

proof fn fire_fits(r: Row, f: u64, value: nat, c: u64, g: u64)
    requires
        row_inv(r),
        1 <= f <= r.admissions.len(),
        fits(r, c, g),
    ensures
        fits(fire(r, f, value), c, g),
{
}

// ---------------------------------------------------------------------------------------------
// Preservation: the world
// ---------------------------------------------------------------------------------------------

/// Replacing one row by a lawful successor of it.
proof fn row_frame(w: World, n: Name, y: Row)
    requires
        inv(w),
        row_inv(y),
        forall|c: u64, f: u64| #[trigger] carries(w, c, n, f) ==> fits(y, c, f),
    ensures
        inv(set_row(w, n, y)),
{
    let w2 = set_row(w, n, y);
    assert(w2.claims == w.claims);
    assert forall|m: Name| row_inv(#[trigger] row(w2, m)) by {
        assert(row_inv(row(w, m)));
        if m == n { assert(row(w2, m) == y); } else { assert(row(w2, m) == row(w, m)); }
    }
    assert forall|c: u64| #[trigger] caller_ok(w2, c) by {
        assert(caller_ok(w, c));
        assert(belief(w2, c) == belief(w, c));
        match belief(w, c) {
            Belief::Idle => {},
            Belief::Admitted { name, fence } => {
                if name == n {
                    assert(carries(w, c, n, fence));
                    assert(row(w2, name) == y);
                } else {
                    assert(row(w2, name) == row(w, name));
                }
            },
        }
    }
}

/// Replacing what one caller has in hand.
proof fn belief_frame(w: World, a: u64, b: Belief)
    requires
        inv(w),
        match b {
            Belief::Idle => true,
            Belief::Admitted { name, fence } => fits(row(w, name), a, fence),
        },
    ensures
        inv(set_belief(w, a, b)),
{
    let w2 = set_belief(w, a, b);
    assert(w2.claims == w.claims);
    assert forall|m: Name| row_inv(#[trigger] row(w2, m)) by {
        assert(row(w2, m) == row(w, m));
    }
    assert forall|c: u64| #[trigger] caller_ok(w2, c) by {
        assert(caller_ok(w, c));
        if c == a {
            assert(belief(w2, c) == b);
        } else {
            assert(belief(w2, c) == belief(w, c));
        }
        match belief(w2, c) {
            Belief::Idle => {},
            Belief::Admitted { name, fence } => {
                assert(row(w2, name) == row(w, name));
            },
        }
    }
}

pub proof fn init_inv()
    ensures
        inv(init()),
{
    let w = init();
    claim_system::init_inv();
    assert forall|n: Name| row_inv(#[trigger] row(w, n)) by {
        assert(row(w, n) == fresh_row());
        assert(all_accounted(fresh_row()));
    }
    assert forall|c: u64| #[trigger] caller_ok(w, c) by {
        assert(belief(w, c) == Belief::Idle);
    }
}

proof fn keeps_claims(w: World, s: claim_system::Step)
    requires
        inv(w),
        claim_system::enabled(w.claims, s),
    ensures
        inv(step(w, Step::Claims { step: s })),
{
    let w2 = step(w, Step::Claims { step: s });
    claim_system::step_keeps(w.claims, s);
    assert(w2.claims == claim_system::step(w.claims, s));
    assert forall|n: Name| row_inv(#[trigger] row(w2, n)) by {
        assert(row(w2, n) == row(w, n));
    }
    assert forall|c: u64| #[trigger] caller_ok(w2, c) by {
        assert(caller_ok(w, c));
        assert(belief(w2, c) == belief(w, c));
        match belief(w, c) {
            Belief::Idle => {},
            Belief::Admitted { name, fence } => {
                assert(row(w2, name) == row(w, name));
            },
        }
    }
}

proof fn keeps_ask(w: World, q: Request)
    requires
        inv(w),
        belief(w, q.caller) is Idle,
    ensures
        inv(ask(w, q)),
{
    let i = input_of(w, q);
    let r = row(w, q.name);
    let y = asked(r, q.caller, i);
    assert(row_inv(r));
    asked_keeps(r, q.caller, i);
    assert forall|c: u64, f: u64| #[trigger] carries(w, c, q.name, f) implies fits(y, c, f) by {
        assert(caller_ok(w, c));
        asked_fits(r, q.caller, i, c, f);
    }
    row_frame(w, q.name, y);
    let w2 = set_row(w, q.name, y);
    assert(row(w2, q.name) == y);
    match decide_spec(r.effect, i).1 {
        Verdict::Fresh { fence, until: _ } => {
            assert(fence == y.effect.last);
            if q.heard {
                belief_frame(w2, q.caller, Belief::Admitted { name: q.name, fence });
            }
        },
        _ => {},
    }
}

proof fn keeps_fire(w: World, c: u64, value: nat)
    requires
        inv(w),
        enabled(w, Step::Fire { caller: c, value }),
    ensures
        inv(step(w, Step::Fire { caller: c, value })),
{
    match belief(w, c) {
        Belief::Admitted { name, fence } => {
            let r = row(w, name);
            assert(row_inv(r));
            assert(caller_ok(w, c));
            fire_keeps(r, c, fence, value);
            assert forall|d: u64, g: u64| #[trigger] carries(w, d, name, g) implies fits(fire(r, fence, value), d, g) by {
                assert(caller_ok(w, d));
                fire_fits(r, fence, value, d, g);
            }
            row_frame(w, name, fire(r, fence, value));
        },
        Belief::Idle => {},
    }
}

proof fn keeps_say(w: World, n: Name, i: Input, value: nat)
    requires
        inv(w),
        is_true(w, n, i, value),
    ensures
        inv(step(w, Step::Say { name: n, input: i, value })),
{
    let r = row(w, n);
    assert(row_inv(r));
    assert(is_true_of(r, i, value));
    deliver_keeps(r, i, value);
    assert forall|c: u64, f: u64| #[trigger] carries(w, c, n, f) implies fits(deliver(r, i, value), c, f) by {
        assert(caller_ok(w, c));
        match i {
            Input::Release { fence } => {
                if fence == f {
                    // its owner is gone, so nobody carries it
                    assert(gone(w, n, fence));
                    assert(!carries(w, c, n, fence));
                }
            },
            _ => {},
        }
        deliver_fits(r, i, value, c, f);
    }
    row_frame(w, n, deliver(r, i, value));
}

pub proof fn step_keeps(w: World, s: Step)
    requires
        inv(w),
        enabled(w, s),
    ensures
        inv(step(w, s)),
{
    match s {
        Step::Claims { step } => keeps_claims(w, step),
        Step::Ask { request } => keeps_ask(w, request),
        Step::Fire { caller, value } => keeps_fire(w, caller, value),
        Step::Say { name, input, value } => keeps_say(w, name, input, value),
        Step::Leave { caller } => belief_frame(w, caller, Belief::Idle),
    }
}

/// Every reachable world satisfies the invariant.
pub proof fn theorem_effects_reachable(steps: Seq<Step>)
    requires
        legal(init(), steps),
    ensures
        inv(run(init(), steps)),
    decreases steps.len(),
{
    if steps.len() == 0 {
        init_inv();
    } else {
        theorem_effects_reachable(steps.drop_last());
        step_keeps(run(init(), steps.drop_last()), steps.last());
    }
}

// ---------------------------------------------------------------------------------------------
// Theorems
// ---------------------------------------------------------------------------------------------

/// This admission is over without having fired, and nobody is left to fire under it.
pub open spec fn void(w: World, n: Name, i: int) -> bool {
    row(w, n).admissions[i].fired is None && gone(w, n, (i + 1) as u64)
}

/// (1) EO: of two admissions of one effect the earlier was passed over by wish, or is void.
pub proof fn theorem_earlier_admission_is_void(w: World, n: Name, i: int)
    requires
        inv(w),
        0 <= i < row(w, n).admissions.len(),
        !stands(row(w, n), i + 1),
        !row(w, n).admissions[i].overruled,
    ensures
        void(w, n, i),
{
    let r = row(w, n);
    assert(row_inv(r));
    assert(accounted(r, i));
    let f = (i + 1) as u64;
    assert(f == i + 1);
    assert(r.admissions[f - 1] == r.admissions[i]);
    assert forall|c: u64| !(#[trigger] carries(w, c, n, f)) by {
        assert(caller_ok(w, c));
        if carries(w, c, n, f) {
            assert(fits(r, c, f));
        }
    }
}

/// ... so whatever is admitted freshly now, every earlier admission is void or passed over by wish ...
pub proof fn theorem_one_fresh_admission(w: World, q: Request, i: int)
    requires
        inv(w),
        decide_spec(row(w, q.name).effect, input_of(w, q)).1 is Fresh,
        0 <= i < row(w, q.name).admissions.len(),
    ensures
        asked(row(w, q.name), q.caller, input_of(w, q)).admissions[i].overruled || void(w, q.name, i),
{
    let r = row(w, q.name);
    assert(row_inv(r));
    let y = asked(r, q.caller, input_of(w, q));
    if stands(r, i + 1) {
        assert(r.effect.state is Admitted && q.doubt == Doubt::Retry);
        assert(y.admissions[i] == passed_over(r, input_of(w, q))[i]);
    } else if r.admissions[i].overruled {
        assert(y.admissions[i] == passed_over(r, input_of(w, q))[i]);
    } else {
        theorem_earlier_admission_is_void(w, q.name, i);
    }
}

/// ... and it has fired twice only where somebody wished so.
pub proof fn theorem_fires_once(w: World, n: Name, i: int, j: int)
    requires
        inv(w),
        0 <= i < j < row(w, n).admissions.len(),
        row(w, n).admissions[i].fired is Some,
        row(w, n).admissions[j].fired is Some,
    ensures
        row(w, n).admissions[i].overruled,
{
    let r = row(w, n);
    assert(row_inv(r));
    assert(accounted(r, i));
}

pub open spec fn same_outcome(a: Row, b: Row) -> bool {
    a.effect == b.effect && a.result == b.result
}

/// No request touches what is done ...
proof fn asked_keeps_outcome(r: Row, c: u64, i: Input)
    requires
        r.effect.state is Done,
        i is Admit,
    ensures
        same_outcome(asked(r, c, i), r),
{
}

/// ... and no word ...
proof fn deliver_keeps_outcome(r: Row, i: Input, value: nat)
    requires
        wf(r.effect),
        r.effect.state is Done,
    ensures
        same_outcome(deliver(r, i, value), r),
{
}

/// ... so no step does.
pub proof fn theorem_done_in_one_step(w: World, s: Step, n: Name)
    requires
        inv(w),
        enabled(w, s),
        row(w, n).effect.state is Done,
    ensures
        same_outcome(row(step(w, s), n), row(w, n)),
{
    let r = row(w, n);
    assert(row_inv(r));
    match s {
        Step::Claims { step } => {},
        Step::Ask { request } => {
            if request.name == n {
                asked_keeps_outcome(r, request.caller, input_of(w, request));
                assert(row(ask(w, request), n) == asked(r, request.caller, input_of(w, request)));
            } else {
                assert(row(ask(w, request), n) == r);
            }
        },
        Step::Fire { caller, value } => match belief(w, caller) {
            Belief::Admitted { name, fence } => {
                if name == n {
                    assert(row(step(w, s), n) == fire(r, fence, value));
                }
            },
            Belief::Idle => {},
        },
        Step::Say { name, input, value } => {
            if name == n {
                deliver_keeps_outcome(r, input, value);
                assert(row(step(w, s), n) == deliver(r, input, value));
            }
        },
        Step::Leave { caller } => {},
    }
}

/// (2) A recorded result is never lost or changed, whoever says what ...
pub proof fn theorem_result_is_kept(w: World, steps: Seq<Step>, n: Name)
    requires
        inv(w),
        legal(w, steps),
        row(w, n).effect.state is Done,
    ensures
        inv(run(w, steps)),
        same_outcome(row(run(w, steps), n), row(w, n)),
    decreases steps.len(),
{
    if steps.len() > 0 {
        let before = run(w, steps.drop_last());
        theorem_result_is_kept(w, steps.drop_last(), n);
        step_keeps(before, steps.last());
        theorem_done_in_one_step(before, steps.last(), n);
    }
}

/// ... it is what the effect returned, unless a person said so ...
pub proof fn theorem_result_is_what_it_returned(w: World, n: Name)
    requires
        inv(w),
        row(w, n).effect.state is Done,
    ensures
        row(w, n).result is Some,
        ({
            let last = row(w, n).admissions[row(w, n).effect.last - 1];
            last.overruled || last.fired == row(w, n).result
        }),
{
    assert(row_inv(row(w, n)));
}

/// ... and an owner's true word is taken, however late, while its admission stands.
pub proof fn theorem_owner_is_heard(w: World, n: Name, f: u64, value: nat)
    requires
        inv(w),
        open_at(row(w, n).effect, f),
        row(w, n).admissions[f - 1].fired == Some(value),
    ensures
        ({
            let s = Step::Say { name: n, input: Input::Done { fence: f }, value };
            &&& enabled(w, s)
            &&& row(step(w, s), n).effect.state == (State::Done { fence: f })
            &&& row(step(w, s), n).result == Some(value)
        }),
{
    assert(row_inv(row(w, n)));
}

/// The owner's state is seen, and seen right.
pub open spec fn sees(w: World, n: Name, owner: Owner) -> bool {
    match owner {
        Owner::Alive => !gone(w, n, row(w, n).effect.last),
        Owner::Gone => gone(w, n, row(w, n).effect.last),
        Owner::Unknown => false,
    }
}

/// (3) In doubt is exactly: admitted, not done, and its owner is gone ...
pub proof fn theorem_in_doubt_is_admitted_and_gone(w: World, n: Name, owner: Owner, now: u64)
    requires
        inv(w),
        sees(w, n, owner),
    ensures
        in_doubt(row(w, n).effect, owner, now) <==> row(w, n).effect.state is Admitted && row(w, n).result is None && gone(
            w,
            n,
            row(w, n).effect.last,
        ),
{
    assert(row_inv(row(w, n)));
}

/// ... and whoever is at it is not passed over by anybody who sees it.
pub proof fn theorem_owner_in_sight_is_left_alone(w: World, q: Request)
    requires
        inv(w),
        row(w, q.name).effect.state is Admitted,
        q.owner == Owner::Alive,
    ensures
        row(ask(w, q), q.name) == row(w, q.name),
{
    let r = row(w, q.name);
    assert(decide_spec(r.effect, input_of(w, q)).0 == r.effect);
}

/// (4) Fencing: whoever lost its claim is admitted nowhere ...
pub proof fn theorem_fenced(w: World, q: Request)
    requires
        inv(w),
        q.grant < claim_system::cell(w.claims, q.key).claim.last,
    ensures
        row(ask(w, q), q.name) == row(w, q.name),
{
    let x = claim_system::cell(w.claims, q.key);
    assert(claim_system::cell_inv(x, w.claims.now));
    assert(claim_spec::wf(x.claim));
    assert(!claim_spec::holds(x.claim, q.caller, q.grant));
}

/// ... and a word on an admission that no longer stands changes nothing.
pub proof fn theorem_late_word_changes_nothing(w: World, n: Name, i: Input, f: u64, value: nat)
    requires
        inv(w),
        speaks_of(i, f),
        f < row(w, n).effect.last,
    ensures
        row(step(w, Step::Say { name: n, input: i, value }), n) == row(w, n),
{
    let r = row(w, n);
    assert(row_inv(r));
    assert(!open_at(r.effect, f));
    step_late_word(r.effect, i, f);
}

/// The request is granted, and the caller has the effect in hand.
pub open spec fn is_admitted(w: World, q: Request) -> bool {
    let w2 = ask(w, q);
    &&& enabled(w, Step::Ask { request: q })
    &&& carries(w2, q.caller, q.name, row(w2, q.name).effect.last)
    &&& enabled(w2, Step::Fire { caller: q.caller, value: 0 })
}

/// (5) No stuck state: an effect that is not done is had by a caller with a claim: at once if it is free, by the user's
/// wish if its owner is gone ...
pub proof fn theorem_effect_is_not_stuck(w: World, q: Request)
    requires
        inv(w),
        belief(w, q.caller) is Idle,
        holds_claim(w, q),
        q.now <= w.claims.now,
        q.same && q.heard,
        row(w, q.name).effect.last < u64::MAX,
    ensures
        row(w, q.name).effect.state is Free ==> is_admitted(w, q),
        row(w, q.name).effect.state is Admitted && q.owner == Owner::Gone && q.doubt == Doubt::Retry ==> is_admitted(w, q),
{
    let r = row(w, q.name);
    assert(row_inv(r));
    let y = asked(r, q.caller, input_of(w, q));
    if decide_spec(r.effect, input_of(w, q)).1 is Fresh {
        let w2 = ask(w, q);
        assert(row(w2, q.name) == y);
        assert(belief(w2, q.caller) == (Belief::Admitted { name: q.name, fence: y.effect.last }));
        assert(y.admissions[y.effect.last - 1].fired is None);
    }
}

/// ... and a person's word settles it then.
pub proof fn theorem_person_settles(w: World, n: Name, now: u64, fired: bool, value: nat)
    requires
        inv(w),
        now <= w.claims.now,
        row(w, n).effect.state is Admitted,
    ensures
        ({
            let word = Input::Resolve { now, fence: row(w, n).effect.last, owner: Owner::Gone, fired };
            let s = Step::Say { name: n, input: word, value };
            &&& enabled(w, s)
            &&& fired ==> row(step(w, s), n).effect.state is Done
            &&& !fired ==> row(step(w, s), n).effect.state is Free
        }),
{
    let r = row(w, n);
    assert(row_inv(r));
    assert(open_at(r.effect, r.effect.last));
}

// ---------------------------------------------------------------------------------------------
// A run: these worlds are reached
// ---------------------------------------------------------------------------------------------

/// WITNESS: a caller takes its claim, is admitted, fires, and dies before it can say so: in doubt, and it has fired.
pub proof fn witness_in_doubt(c: u64, k: claim_system::Key, n: Name)
    ensures
        exists|steps: Seq<Step>| #[trigger] legal(init(), steps) && in_doubt(
            row(run(init(), steps), n).effect,
            Owner::Gone,
            0,
        ) && row(run(init(), steps), n).admissions[0].fired == Some(7nat),
{
    let take = claim_system::Step::Acquire { worker: c, key: k, lease: 1 };
    let q = Request {
        caller: c,
        name: n,
        key: k,
        grant: 1,
        now: 0,
        lease: 1,
        same: true,
        owner: Owner::Unknown,
        doubt: Doubt::Raise,
        heard: true,
    };
    let a0 = Seq::<Step>::empty();
    let a1 = a0.push(Step::Claims { step: take });
    let a2 = a1.push(Step::Ask { request: q });
    let a3 = a2.push(Step::Fire { caller: c, value: 7 });
    let a4 = a3.push(Step::Leave { caller: c });
    assert(a1.drop_last() =~= a0);
    assert(a2.drop_last() =~= a1);
    assert(a3.drop_last() =~= a2);
    assert(a4.drop_last() =~= a3);
    let w0 = init();
    let w1 = step(w0, Step::Claims { step: take });
    let w2 = step(w1, Step::Ask { request: q });
    let w3 = step(w2, Step::Fire { caller: c, value: 7 });
    let w4 = step(w3, Step::Leave { caller: c });
    assert(run(w0, a0) == w0 && legal(w0, a0));
    assert(claim_system::belief(w0.claims, c) is Idle);
    assert(enabled(w0, Step::Claims { step: take }));
    assert(run(w0, a1) == w1 && legal(w0, a1));
    assert(claim_system::cell(w0.claims, k) == claim_system::fresh_cell());
    assert(claim_system::cell(w1.claims, k).claim.last == 1);
    assert(holds_claim(w1, q));
    let r0 = fresh_row();
    assert(row(w1, n) == r0);
    let r1 = asked(r0, c, input_of(w1, q));
    assert(decide_spec(r0.effect, input_of(w1, q)).1 is Fresh);
    assert(r1.effect.last == 1 && r1.admissions.len() == 1 && r1.admissions[0].fired is None);
    assert(enabled(w1, Step::Ask { request: q }));
    assert(run(w0, a2) == w2 && legal(w0, a2));
    assert(row(w2, n) == r1);
    assert(belief(w2, c) == (Belief::Admitted { name: n, fence: 1 }));
    let r2 = fire(r1, 1, 7);
    assert(enabled(w2, Step::Fire { caller: c, value: 7 }));
    assert(run(w0, a3) == w3 && legal(w0, a3));
    assert(row(w3, n) == r2);
    assert(r2.admissions[0].fired == Some(7nat));
    assert(enabled(w3, Step::Leave { caller: c }));
    assert(run(w0, a4) == w4 && legal(w0, a4));
    assert(row(w4, n) == r2);
    assert(in_doubt(r2.effect, Owner::Gone, 0));
}

} // verus!
