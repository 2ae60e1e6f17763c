"""The allowance: no interleaving of calls spends more than the ceiling, and every cent is accounted for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_memory import memory, transact

from leadhand.domain.errors import Failure
from leadhand.domain.events import AnyEvent, AttemptLost, AttemptParked, ModelCallBegan, ModelCallReturned, RunStarted
from leadhand.domain.limits import Amount, Limits, Usage
from leadhand.domain.run import ModelChoice, RunDefinition
from leadhand.ports import AllowanceRefused
from leadhand.stores.budget import LARGEST, METERED, Budget
from leadhand.stores.codec import encode
from leadhand.stores.connection import Connection
from leadhand.stores.transaction import Append, Create

LOST = Failure.model_validate({"message": "", "type": "lost", "class": "lost"})
KINDS = ("requests", "tokens", "nanousd")
ATTEMPTS = ("wo-001.0/a1", "wo-001.0/a2", "wo-001.1/a1")
CALLS = ("t0", "t1")

attempts, calls = st.sampled_from(ATTEMPTS), st.sampled_from(CALLS)
amounts = st.builds(Amount, requests=st.integers(0, 3), tokens=st.integers(0, 40), nanousd=st.integers(0, 40))
began = st.builds(
    ModelCallBegan, attempt=attempts, call_id=calls, model=st.just("m"), reserved=amounts, final=st.booleans()
)
# A usage is a share of what was reserved, as it is with every honest provider; made of the draw when it is applied.
shares = st.none() | st.tuples(st.integers(0, 100), st.booleans())
returned = st.tuples(attempts, calls, shares)
over = st.builds(AttemptLost, attempt=attempts, failure=st.just(LOST)) | st.builds(
    AttemptParked, attempt=attempts, open_calls=st.just(())
)
# Batches of appends of events: what is committed together, refused together, and told apart.
histories = st.lists(st.lists(st.lists(began | returned | over, max_size=3), max_size=3), max_size=12)


@dataclass
class Model:
    """The allowance as a book-keeper would write it, event by event, with nothing clever."""

    ceiling: dict[str, int | None]
    held_back: dict[str, int]
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    open: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict[tuple[str, str], dict[str, int]])

    def copy(self) -> Model:
        return Model(self.ceiling, self.held_back, dict(self.spent), dict(self.open))

    def reserved(self, kind: str) -> int:
        return sum(amount[kind] for amount in self.open.values())

    def settle(self, key: tuple[str, str], usage: Usage | None) -> None:
        reserved = self.open.pop(key, None)
        if reserved is None:
            return
        used = reserved if usage is None else usage.amount.model_dump()
        if usage is not None and usage.nanousd is None:
            used["nanousd"] = reserved["nanousd"]
        for kind in KINDS:
            self.spent[kind] += used[kind]

    def accepts(self, event: AnyEvent) -> bool:
        match event:
            case ModelCallBegan():
                self.settle((event.attempt, event.call_id), None)
                wanted = event.reserved.model_dump()
                for kind in KINDS:
                    ceiling = self.ceiling[kind]
                    kept = 0 if event.final else self.held_back[kind]
                    if ceiling is not None and self.spent[kind] + self.reserved(kind) + wanted[kind] > ceiling - kept:
                        return False
                self.open[event.attempt, event.call_id] = wanted
            case ModelCallReturned():
                self.settle((event.attempt, event.call_id), event.usage)
            case AttemptLost() | AttemptParked():
                for key in [key for key in self.open if key[0] == event.attempt]:
                    self.settle(key, None)
            case _:
                raise AssertionError(event)
        return True


def honest(model: Model, drawn: Any) -> AnyEvent:
    """A drawn event; a return with a usage within what its call has reserved."""
    if not isinstance(drawn, tuple):
        return drawn
    attempt, call, share = cast("tuple[str, str, tuple[int, bool] | None]", drawn)
    usage: Usage | None = None
    if share is not None:
        percent, priced = share
        part = {kind: most * percent // 100 for kind, most in model.open.get((attempt, call), {}).items()}
        usage = Usage(
            requests=part.get("requests", 1),
            input_tokens=part.get("tokens", 5),
            nanousd=part.get("nanousd", 5) if priced else None,
        )
    return ModelCallReturned(attempt=attempt, call_id=call, model="m", usage=usage)


def append(events: list[AnyEvent]) -> Append:
    metered = [event for event in events if isinstance(event, METERED)]
    return Append(
        run_id="run-1",
        events=[encode(event) for event in events],
        metered=metered,
        attempts={event.attempt for event in metered},
    )


def start(connection: Connection, limits: Limits, held_back: Amount) -> None:
    definition = RunDefinition(
        request="r", flow="f", models=ModelChoice(default="m"), limits=limits, held_back=held_back
    )
    transact(connection, Create(run_id="run-1", started=encode(RunStarted(definition=definition))))


def books(connection: Connection) -> tuple[dict[str, int], dict[tuple[str, str], dict[str, int]], dict[str, int]]:
    """What the database says: spent, open reservations and their sum."""
    (row,) = connection.execute(
        "SELECT spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd"
        " FROM runs"
    )
    rows = connection.execute("SELECT attempt, call_id, requests, tokens, nanousd FROM reservations")
    open_ = {(attempt, call): dict(zip(KINDS, amount, strict=True)) for attempt, call, *amount in rows}
    return dict(zip(KINDS, row[:3], strict=True)), open_, dict(zip(KINDS, row[3:], strict=True))


@given(
    histories,
    st.tuples(*(st.none() | st.integers(0, 120) for _ in KINDS)),
    st.builds(Amount, requests=st.integers(0, 2), tokens=st.integers(0, 30), nanousd=st.integers(0, 30)),
)
def test_no_interleaving_spends_more_than_the_ceiling(
    history: list[list[list[Any]]], ceiling: tuple[int | None, int | None, int | None], held_back: Amount
) -> None:
    limits = Limits(max_requests=ceiling[0], max_tokens=ceiling[1], budget_nanousd=ceiling[2])
    model = Model(dict(zip(KINDS, ceiling, strict=True)), held_back.model_dump())
    with closing(memory()) as connection:
        start(connection, limits, held_back)
        for batch in history:
            appends: list[Append] = []
            accepted: list[bool] = []
            for drawn in batch:
                trial = model.copy()
                events: list[AnyEvent] = []
                fitting = True
                for each in drawn:
                    events.append(honest(trial, each))
                    fitting = fitting and trial.accepts(events[-1])
                if fitting:
                    model = trial
                accepted.append(fitting)
                appends.append(append(events))

            outcomes = transact(connection, *appends)

            assert [not isinstance(outcome, AllowanceRefused) for outcome in outcomes] == accepted
            spent, open_, reserved = books(connection)
            assert spent == model.spent
            assert open_ == model.open
            assert reserved == {kind: model.reserved(kind) for kind in KINDS}
            for kind, most in model.ceiling.items():
                assert most is None or spent[kind] + reserved[kind] <= most


def test_the_refusal_says_what_was_wanted_and_what_is_left() -> None:
    budget = Budget((None, 100, 2_000_000), (0, 10, 0))
    event = ModelCallBegan(
        attempt="plan/a1", call_id="plan/t0", model="m", reserved=Amount(requests=1, tokens=91, nanousd=1_500_000)
    )
    with pytest.raises(AllowanceRefused) as refused:
        budget.apply([event])
    assert refused.value.what == (
        "the model call plan/t0 may need 1 request, 91 tokens, $0.001500, and the run has 90 tokens, $0.002000 left"
        " beside what is kept for writing the answer"
    )
    assert "--budget" in refused.value.how


def test_amounts_beyond_reason_do_not_break_the_books() -> None:
    with closing(memory()) as connection:
        start(connection, Limits(max_tokens=2**80, budget_nanousd=2**80), Amount(tokens=-5))
        huge = ModelCallBegan(
            attempt="a/a1", call_id="t0", model="m", reserved=Amount(requests=-1, tokens=2**90, nanousd=2**90)
        )
        (outcome,) = transact(connection, append([huge]))
        assert isinstance(outcome, list)
        assert books(connection)[2] == {"requests": 0, "tokens": LARGEST, "nanousd": LARGEST}
