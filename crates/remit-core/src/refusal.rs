//! The one table of errors: a stable code, the class that is raised, the message, the hint.
//! The veneer fills in the fields; `docs/reference/errors.md` and the tests are compared with this table.

/// The class that is raised. All derive from `RemitError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The base: a wrong use of REMIT itself.
    Error,
    /// A resume that answers nothing.
    StrayResume,
    /// A state that its schema refuses.
    Validity,
    /// An operation out of its plane's order.
    Order,
    /// A step that is durable already.
    Prefix,
    /// Another run has the right to answer.
    ConsumeConflict,
    /// An effect that is another's to fire, or was fired otherwise.
    DuplicateEffect,
    /// An effect of which nobody can say whether it fired.
    EffectInDoubt,
}

/// One row of the table. `{name}` in the texts is a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Stable across releases.
    pub code: &'static str,
    /// The class that is raised.
    pub class: Class,
    /// What happened.
    pub message: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// All refusals.
pub const TABLE: &[Entry] = &[
    Entry {
        code: "not-a-saver",
        class: Class::Error,
        message: "RemitSaver wraps a checkpointer instance, not {given}",
        hint: "pass an instance of a BaseCheckpointSaver subclass: RemitSaver(SqliteSaver(conn))",
    },
    Entry {
        code: "already-wrapped",
        class: Class::Error,
        message: "this checkpointer is a RemitSaver already",
        hint: "wrap the inner saver once",
    },
    Entry {
        code: "bad-option",
        class: Class::Error,
        message: "an option of RemitSaver is wrong: {detail}",
        hint: "see RemitConfig for the options and their types",
    },
    Entry {
        code: "bad-page",
        class: Class::Error,
        message: "open questions cannot be listed so: {detail}",
        hint: "older_than is a timedelta, limit a positive number, after a question that pending returned, metadata a mapping",
    },
    Entry {
        code: "bad-fork",
        class: Class::Error,
        message: "remit_fork must be True, False or a non-empty string that a database can store, not {given}",
        hint: "pass configurable={{\"remit_fork\": True}} for a fresh branch, or a string that names it",
    },
    Entry {
        code: "bad-key",
        class: Class::Error,
        message: "REMIT does not know {given} in configurable",
        hint: "known are remit_fork, remit_inspect and remit_answer_id",
    },
    Entry {
        code: "fork-delta",
        class: Class::Error,
        message: "thread {thread} has DeltaChannels, whose state would be rebuilt from the writes of both lines at checkpoint {checkpoint}; nothing was run",
        hint: "fork at a checkpoint that the thread has moved past, with langgraph 1.2.24 or newer",
    },
    Entry {
        code: "stray-no-thread",
        class: Class::StrayResume,
        message: "a resume was sent to thread {thread}, which has no checkpoint; nothing was run",
        hint: "start the thread with an input first, or check the thread_id",
    },
    Entry {
        code: "stray-no-checkpoint",
        class: Class::StrayResume,
        message: "thread {thread} has no checkpoint {checkpoint}; nothing was run",
        hint: "take the checkpoint_id from get_state or get_state_history, or leave it out to address the head",
    },
    Entry {
        code: "stray-not-waiting",
        class: Class::StrayResume,
        message: "a resume was sent to thread {thread}, which is not waiting for an answer; the answer was discarded",
        hint: "the question was answered already; to answer it differently, fork: address its checkpoint_id",
    },
    Entry {
        code: "stray-unknown-interrupt",
        class: Class::StrayResume,
        message: "no interrupt named in the resume is open on thread {thread} (named: {named}; open: {open}); nothing was run",
        hint: "take the ids from get_state(config).interrupts",
    },
    Entry {
        code: "stray-some-unknown",
        class: Class::StrayResume,
        message: "some interrupts named in the resume are not open on thread {thread} (not open: {named}; open: {open}); nothing was run",
        hint: "send the answers to the open ones again, without the others",
    },
    Entry {
        code: "stray-empty-map",
        class: Class::StrayResume,
        message: "the resume is an empty map, which LangGraph takes for answers by interrupt id, and it names none (open on thread {thread}: {open}); nothing was run",
        hint: "to answer with an empty dict, name the interrupt: Command(resume={{interrupt_id: {{}}}})",
    },
    Entry {
        code: "stray-unnamed",
        class: Class::StrayResume,
        message: "a bare answer was sent to thread {thread}, which accepts answers by interrupt id only (open: {open}); nothing was run",
        hint: "answer by name: Command(resume={{interrupt_id: value}})",
    },
    Entry {
        code: "stray-ambiguous",
        class: Class::StrayResume,
        message: "a bare answer was sent to thread {thread}, where more than one question is open (open: {open}); nothing was run",
        hint: "answer by name: Command(resume={{interrupt_id: value}})",
    },
    Entry {
        code: "answer-outdated",
        class: Class::StrayResume,
        message: "a bare answer was sent to thread {thread}, whose question was withdrawn when its state was edited; nothing was run",
        hint: "go on with invoke(None, config): the node asks again, with the edited state",
    },
    Entry {
        code: "answer-unheard",
        class: Class::StrayResume,
        message: "the answer to thread {thread} ran nothing: no node of this graph takes it (open: {open})",
        hint: "if the node that asked was renamed, give it its old name back until the threads that wait for it are through",
    },
    Entry {
        code: "answer-delivered",
        class: Class::StrayResume,
        message: "answer {answer_id} was delivered to thread {thread} before; nothing was run",
        hint: "read the state: the thread has moved on; an answer to its next question needs an id of its own",
    },
    Entry {
        code: "answer-expired",
        class: Class::StrayResume,
        message: "an answer came to thread {thread} after its question had expired, at {expires_at}; it was not taken",
        hint: "ask anew: give a new input, or change the state with update_state",
    },
    Entry {
        code: "answer-id-reused",
        class: Class::ConsumeConflict,
        message: "answer id {answer_id} was used on thread {thread} for another answer; nothing was run",
        hint: "give each answer an id of its own, and the same one only when the same answer is sent again",
    },
    Entry {
        code: "bad-answer-id",
        class: Class::Error,
        message: "remit_answer_id must be a non-empty string that a database can store, not {given}",
        hint: "take the id of the message, request or job that delivers the answer",
    },
    Entry {
        code: "bad-gate",
        class: Class::Error,
        message: "cross_process_gate must be True or False, not {given}",
        hint: "pass configurable={{\"cross_process_gate\": True}} to gate one call",
    },
    Entry {
        code: "gate-no-store",
        class: Class::Error,
        message: "the gate has no place for its claims: REMIT does not know the database of {given}",
        hint: "pass claim_store=..., an object with the methods of remit.claims.ClaimStore",
    },
    Entry {
        code: "conflict-held",
        class: Class::ConsumeConflict,
        message: "{holder} is executing at checkpoint {checkpoint} of thread {thread}, since {since}; nothing was run",
        hint: "wait for its outcome and read the state again (on_conflict=\"wait\" does so); if it is dead, its claim ends at {lease_end}, or at once with saver.release(thread_id)",
    },
    Entry {
        code: "conflict-consumed",
        class: Class::ConsumeConflict,
        message: "the questions at checkpoint {checkpoint} of thread {thread} were answered by another run; nothing was run",
        hint: "read the state: the thread has moved on, and this answer is a duplicate or came too late",
    },
    Entry {
        code: "conflict-fenced",
        class: Class::ConsumeConflict,
        message: "this run lost its claim on checkpoint {checkpoint} of thread {thread} to {holder}; what it was about to store was refused",
        hint: "read the state: it is the other run's; a run loses its claim when it gives no sign of life for longer than claim_lease",
    },
    Entry {
        code: "effect-duplicate",
        class: Class::DuplicateEffect,
        message: "effect {effect} of thread {thread} is being fired by {owner}, since {since}; it was not fired again",
        hint: "wait for its outcome and run again: what it returns is then returned here",
    },
    Entry {
        code: "effect-mismatch",
        class: Class::DuplicateEffect,
        message: "effect {effect} of thread {thread} is {state} with other arguments, since {since} by {owner}; it was not fired with these",
        hint: "what fired stays fired: undo it by an effect of its own, or give another key if this is another effect",
    },
    Entry {
        code: "effect-superseded",
        class: Class::DuplicateEffect,
        message: "effect {effect} of thread {thread} was taken for dead while it was being fired, and settled by others; that it has fired was not recorded",
        hint: "look at its history with saver.effects(thread_id): it may have fired twice",
    },
    Entry {
        code: "effect-in-doubt",
        class: Class::EffectInDoubt,
        message: "effect {effect} of thread {thread} may have fired: {owner} was admitted at {since} and did not live to say (arguments {fingerprint}); it was not fired again",
        hint: "look outside whether it fired, then saver.resolve_effect(thread_id, {index}, fired=True or False), or call it with in_doubt=\"retry\" if whoever receives it knows it again by remit.effect_key()",
    },
    Entry {
        code: "effect-result",
        class: Class::Error,
        message: "effect {effect} of thread {thread} has fired, but what it returned cannot be given back: {detail}",
        hint: "return something that the saver's serializer can store; for this one, saver.resolve_effect(thread_id, {index}, fired=True, result=...)",
    },
    Entry {
        code: "effect-unresolvable",
        class: Class::Error,
        message: "effect {index} of thread {thread} is not in doubt: {detail}",
        hint: "list them with saver.effects(thread_id)",
    },
    Entry {
        code: "effect-outside",
        class: Class::Error,
        message: "effect {effect} was called outside of a run: {detail}",
        hint: "call it in a node, a task or a tool of a graph that is compiled with a RemitSaver (with await, Python 3.11 or newer)",
    },
    Entry {
        code: "effect-no-saver",
        class: Class::Error,
        message: "effect {effect} was called in a run whose checkpointer is {given}, not a RemitSaver",
        hint: "compile the graph with checkpointer=RemitSaver(...)",
    },
    Entry {
        code: "effect-no-store",
        class: Class::Error,
        message: "effect {effect} was not fired: REMIT does not know the database of {given}, so it could not be recorded there",
        hint: "effects are recorded beside SqliteSaver, PostgresSaver, their async twins and InMemorySaver",
    },
    Entry {
        code: "effect-on-loop",
        class: Class::Error,
        message: "effect {effect} was called on an event loop, which it would block",
        hint: "in an async node: await remit.aeffect(...)",
    },
    Entry {
        code: "effect-not-durable",
        class: Class::Error,
        message: "effect {effect} was not fired: the checkpoint that its task runs under is not stored before the run's end (durability=\"exit\"), so after a crash nobody would know it again",
        hint: "use durability=\"sync\" or \"async\", or scope=\"thread\" with a key that names it across runs",
    },
    Entry {
        code: "effect-not-stored",
        class: Class::Error,
        message: "effect {effect} was not fired: checkpoint {checkpoint} of thread {thread}, which its task runs under, was not stored",
        hint: "see the error of the checkpoint; run again when the store is there",
    },
    Entry {
        code: "effect-arguments",
        class: Class::Error,
        message: "effect {effect} was not fired: its arguments have no fingerprint: {detail}",
        hint: "pass key=..., which then tells the effect, or arguments that the serializer can store",
    },
    Entry {
        code: "bad-transaction",
        class: Class::Error,
        message: "the transaction was not made, or was rolled back: {detail}",
        hint: "with saver.transaction() as tx: effect(effect_id, fn, ...), in a node, over a SQLite or PostgreSQL saver (async with over an async one)",
    },
    Entry {
        code: "bad-effect",
        class: Class::Error,
        message: "effect {effect} was not fired: {detail}",
        hint: "effect(effect_id, fn, *args, key=None, scope=\"task\" or \"thread\", in_doubt=\"raise\" or \"retry\", **kwargs); thread scope needs a key",
    },
    Entry {
        code: "not-autocommit",
        class: Class::Error,
        message: "the PostgreSQL connection is transactional, so nothing that is stored would become durable",
        hint: "connect with autocommit=True (for a pool: kwargs={{\"autocommit\": True}})",
    },
    Entry {
        code: "invalid-state",
        class: Class::Validity,
        message: "an invalid state was refused, nothing of it is part of the thread: {detail}",
        hint: "fix the node and go on with invoke(None, config): the thread holds the last valid state (if it was new, give the input again)",
    },
    Entry {
        code: "validator-failed",
        class: Class::Validity,
        message: "the validator itself failed, nothing was stored: {detail}",
        hint: "a validator refuses by raising ValueError, TypeError or AssertionError and must accept any channel values that may occur",
    },
    Entry {
        code: "out-of-lineage",
        class: Class::Order,
        message: "checkpoint {checkpoint} of thread {thread} names {parent} as its parent, but the run stands at {frontier}; it was not stored",
        hint: "each checkpoint of a run follows the one before it: read the state again and repeat the call",
    },
    Entry {
        code: "durable-step",
        class: Class::Prefix,
        message: "checkpoint {checkpoint} of thread {thread} is durable already, at step {step} of its run; it was not stored again",
        hint: "a finished step is never run again: go on with invoke(None, config)",
    },
    Entry {
        code: "id-in-the-past",
        class: Class::Order,
        message: "checkpoint {checkpoint} of thread {thread} has an id below its parent's, {parent}: readers would take the parent for newer; it was not stored",
        hint: "ids come from the clock of the worker: compare its clock with those of the others",
    },
    Entry {
        code: "overtaken",
        class: Class::Order,
        message: "checkpoint {checkpoint} of thread {thread} follows {parent}, but another run took the thread on to {frontier} meanwhile; it was not stored",
        hint: "run one at a time on a thread: cross_process_gate=True refuses the second before anything runs",
    },
    Entry {
        code: "question-passed-over",
        class: Class::Order,
        message: "LangGraph went on past an open question of thread {thread}: checkpoint {checkpoint} would follow {parent}, where a task waits for an answer; it was not stored",
        hint: "call again with invoke(None, config): the thread still waits there. (LangGraph 1.2.9 does so now and then after an error handler; keep the handled exceptions referenced, or upgrade)",
    },
    Entry {
        code: "thread-deleted",
        class: Class::Order,
        message: "thread {thread} was deleted while a run executed on it; what the run was about to store was refused",
        hint: "end the thread's runs before it is deleted, or give the input again to begin anew",
    },
    Entry {
        code: "sync-on-loop",
        class: Class::Error,
        message: "{saver} is bound to the event loop that runs in this thread, which a blocking call would stop for ever",
        hint: "await the asynchronous method of the same name, with an a before it",
    },
    Entry {
        code: "mutated-in-place",
        class: Class::Validity,
        message: "channel {field} of thread {thread} was changed in place, so what the run sees is not what would be stored; checkpoint {checkpoint} was not stored",
        hint: "a node must return what it changes, as a new value: {{\"{field}\": [*state[\"{field}\"], ...]}}",
    },
    Entry {
        code: "type-lost",
        class: Class::Validity,
        message: "channel {field} of thread {thread} holds a {value_type} that could not be rebuilt: {detail}; checkpoint {checkpoint} was not read",
        hint: "make the class importable under its old name again (an alias will do), or list it in the serializer's allowed_msgpack_modules; without strict_types it is read as bare data or None",
    },
    Entry {
        code: "unsound-saver",
        class: Class::Error,
        message: "{saver} does not keep what a thread needs to be resumed: {detail}",
        hint: "use another saver, or report this to its authors",
    },
    Entry {
        code: "tables-newer",
        class: Class::Error,
        message: "the tables of REMIT in this database have version {found}; this release knows {known}",
        hint: "upgrade langgraph-checkpoint-remit in every process that uses the database",
    },
    Entry {
        code: "tables-denied",
        class: Class::Error,
        message: "REMIT could not create its tables: {detail}",
        hint: "let an administrator run this once:\n{sql}",
    },
];

/// The entry of a code.
pub fn entry(code: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|e| e.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_leads_to_its_own_entry() {
        assert!(TABLE.iter().all(|e| entry(e.code) == Some(e)));
        assert_eq!(entry("no-such-code"), None);
    }

    #[test]
    fn codes_are_unique() {
        for (i, a) in TABLE.iter().enumerate() {
            assert!(
                TABLE.iter().skip(i + 1).all(|b| a.code != b.code),
                "{}",
                a.code
            );
        }
    }
}
