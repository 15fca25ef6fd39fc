"""The contract, held against any LangGraph checkpointer: `remit conform --factory module:callable`.

`factory` finds the savers, `cases` says what is done to them (one file per promise), `graphs` and `stage` are where it is
done, `zygote` makes the processes, `tap` stops a store after exactly n writes, `ledger` is the oracle, `report` prints.
`plugin` runs the same in a pytest suite. Needs langgraph.
"""
