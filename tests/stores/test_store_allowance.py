"""The allowance: no interleaving of calls exceeds a ceiling of the run or of a scope, and every cent is counted."""

from __future__ import annotations

import re
from contextlib import closing
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from store_memory import memory, transact

from leadhand.core.budget import Account, Budget
from leadhand.core.errors import BudgetRefused, Failure
from leadhand.core.events import AnyEvent, AttemptParked, AttemptReturned, ModelCallBegan, ModelCallReturned, RunStarted
from leadhand.core.limits import Ceiling, Limits, Money, Usage, usd
from leadhand.core.money import LARGEST
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.stores.codec import encode
from leadhand.stores.connection import Connection
from leadhand.stores.transaction import Append, Create

LOST = Failure.model_validate({"message": "", "type": "lost", "class": "lost"})
KINDS = ("requests", "tokens", "nanousd")
ATTEMPTS = ("wo-001.0/a1", "wo-001.0/a2", "wo-001.1/a1")
CALLS = ("t0", "t1", "t2")

attempts, calls = st.sampled_from(ATTEMPTS), st.sampled_from(CALLS)
amounts = st.builds(Money, requests=st.integers(0, 3), tokens=st.integers(0, 40), nanousd=st.integers(0, 40))
began = st.builds(
    ModelCallBegan,
    attempt=attempts,
    call_id=calls,
    model=st.just("m"),
    reserved=amounts,
    kept=st.builds(Money, requests=st.integers(0, 1), tokens=st.integers(0, 10), nanousd=st.integers(0, 10)),
)
# A call of a step in a tree of four: it names its own scope and those above, at times with another ceiling.
SCOPES = ("a", "b", "c", "d")
# A ceiling has room for a few calls at once, so that many do not fit only because of what others have reserved.
ceilings = st.tuples(*(st.none() | st.integers(0, most) for most in (9, 120, 120)))
of_run = st.tuples(*(st.none() | st.integers(*span) for span in ((1, 9), (1, 120), (0, 120))))
trees = st.tuples(*(st.none() | st.integers(0, number) for number in range(len(SCOPES) - 1)), st.just(None)).map(
    lambda drawn: (None, *drawn[:-1])
)
scoped = st.tuples(began, st.none() | st.integers(0, len(SCOPES) - 1), st.none() | ceilings)
# A usage is a share of what was reserved, as it is with every honest provider; made of the draw when it is applied.
shares = st.none() | st.tuples(st.integers(0, 100), st.booleans())
returned = st.tuples(attempts, calls, shares)
over = st.builds(AttemptReturned, attempt=attempts, lost=st.just(True), failure=st.just(LOST)) | st.builds(
    AttemptParked, attempt=attempts, open_calls=st.just(())
)
# Batches of appends of events: what is committed together, refused together, and told apart.
histories = st.lists(
    st.lists(st.lists(scoped | returned | over, min_size=1, max_size=3), min_size=1, max_size=3),
    min_size=3,
    max_size=12,
)


@dataclass
class Model:
    """The allowance as a bookkeeper would write it, event by event, with nothing clever."""

    ceiling: dict[str, int | None]
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    open: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict[tuple[str, str], dict[str, int]])
    scopes: dict[str, dict[str, int | None]] = field(default_factory=dict[str, dict[str, int | None]])
    scope_spent: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    within: dict[tuple[str, str], set[str]] = field(default_factory=dict[tuple[str, str], set[str]])

    def copy(self) -> Model:
        return deepcopy(self)

    def reserved(self, kind: str, scope: str | None = None) -> int:
        return sum(
            amount[kind] for key, amount in self.open.items() if scope is None or scope in self.within.get(key, ())
        )

    def settle(self, key: tuple[str, str], usage: Usage | None) -> None:
        reserved = self.open.pop(key, None)
        scopes = self.within.pop(key, set())
        if reserved is None:
            return
        used = reserved if usage is None else asdict(usage.used(Money(**reserved)))
        if usage is not None and usage.nanousd is None:
            used["nanousd"] = reserved["nanousd"]
        for kind in KINDS:
            self.spent[kind] += used[kind]
            for scope in scopes:
                self.scope_spent[scope][kind] += used[kind]

    def accepts(self, event: AnyEvent) -> bool:
        match event:
            case ModelCallBegan():
                self.settle((event.attempt, event.call_id), None)
                wanted = asdict(event.reserved)
                for kind in KINDS:
                    ceiling = self.ceiling[kind]
                    kept = getattr(event.kept, kind)
                    if ceiling is not None and self.spent[kind] + self.reserved(kind) + wanted[kind] > ceiling - kept:
                        return False
                for allowance in event.within:
                    limits = self.scopes.setdefault(allowance.scope, dict.fromkeys(KINDS, None))
                    spent = self.scope_spent.setdefault(allowance.scope, dict.fromkeys(KINDS, 0))
                    for kind, limit in zip(KINDS, allowance.row, strict=True):
                        limits[kind] = min((each for each in (limits[kind], limit) if each is not None), default=None)
                for allowance in event.within:
                    limits, spent = self.scopes[allowance.scope], self.scope_spent[allowance.scope]
                    for kind, most in limits.items():
                        there = spent[kind] + self.reserved(kind, allowance.scope)
                        if most is not None and there + wanted[kind] > most:
                            return False
                self.open[event.attempt, event.call_id] = wanted
                self.within[event.attempt, event.call_id] = {allowance.scope for allowance in event.within}
            case ModelCallReturned():
                self.settle((event.attempt, event.call_id), event.usage)
            case AttemptReturned() | AttemptParked():
                for key in [key for key in self.open if key[0] == event.attempt]:
                    self.settle(key, None)
            case _:
                raise AssertionError(event)
        return True


@dataclass(frozen=True)
class Tree:
    """Steps below each other, each with a ceiling."""

    parents: tuple[int | None, ...]
    ceilings: tuple[tuple[int | None, int | None, int | None], ...]

    def within(self, number: int | None, other: tuple[int | None, int | None, int | None] | None) -> list[Ceiling]:
        """The allowances of a step and of its ancestors; its own with another ceiling, if there is one."""
        found: list[Ceiling] = []
        while number is not None:
            requests, tokens, nanousd = other or self.ceilings[number]
            ceiling = Ceiling(requests=requests, tokens=tokens, nanousd=nanousd)
            found.append(replace(ceiling, scope=SCOPES[number]))
            number, other = self.parents[number], None
        return found


def honest(model: Model, tree: Tree, drawn: Any) -> AnyEvent:
    """A drawn event; a call with its scopes; a return with a usage within what its call has reserved."""
    if not isinstance(drawn, tuple):
        return drawn
    if isinstance(drawn[0], ModelCallBegan):
        event, number, other = cast("tuple[ModelCallBegan, int | None, Any]", drawn)
        return event.evolve(within=tuple(tree.within(number, other)))
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
    return Append("run-1", [encode(event) for event in events])


def start(connection: Connection, limits: Limits) -> None:
    definition = RunDefinition(request="r", flow="f", models=ModelChoice(default="m"), limits=limits)
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


def scope_books(connection: Connection) -> dict[str, tuple[list[int | None], list[int], list[int]]]:
    """What the database says of scopes: ceiling, spent and reserved."""
    rows = connection.execute(
        "SELECT scope, ceiling_requests, ceiling_tokens, ceiling_nanousd, spent_requests, spent_tokens, spent_nanousd,"
        " reserved_requests, reserved_tokens, reserved_nanousd FROM allowances"
    )
    return {scope: (row[:3], row[3:6], row[6:]) for scope, *row in rows}


@given(histories, of_run, trees, st.tuples(*(ceilings for _ in SCOPES)))
def test_no_interleaving_spends_more_than_the_ceiling(
    history: list[list[list[Any]]],
    ceiling: tuple[int | None, int | None, int | None],
    parents: tuple[int | None, ...],
    scope_ceilings: tuple[tuple[int | None, int | None, int | None], ...],
) -> None:
    tree = Tree(parents, scope_ceilings)
    limits = Limits(
        max_requests=ceiling[0], max_tokens=ceiling[1], budget=None if ceiling[2] is None else usd(ceiling[2])
    )
    model = Model(dict(zip(KINDS, ceiling, strict=True)))
    taken: dict[str, list[int]] = {}
    with closing(memory()) as connection:
        start(connection, limits)
        for batch in history:
            appends: list[Append] = []
            accepted: list[bool] = []
            for drawn in batch:
                trial = model.copy()
                events: list[AnyEvent] = []
                fitting = True
                for each in drawn:
                    events.append(honest(trial, tree, each))
                    fitting = fitting and trial.accepts(events[-1])
                if fitting:
                    model = trial
                accepted.append(fitting)
                appends.append(append(events))

            outcomes = transact(connection, *appends)

            assert [not isinstance(outcome, BudgetRefused) for outcome in outcomes] == accepted
            spent, open_, reserved = books(connection)
            assert spent == model.spent
            assert open_ == model.open
            assert reserved == {kind: model.reserved(kind) for kind in KINDS}
            for kind, most in model.ceiling.items():
                assert most is None or spent[kind] + reserved[kind] <= most
            books_of_scopes = scope_books(connection)
            assert {scope: list(book[0]) for scope, book in books_of_scopes.items()} == {
                scope: list(limits.values()) for scope, limits in model.scopes.items()
            }
            for scope, (_, spent_there, reserved_there) in books_of_scopes.items():
                assert list(spent_there) == list(model.scope_spent[scope].values())
                assert list(reserved_there) == [model.reserved(kind, scope) for kind in KINDS]
                before = taken.get(scope, [0, 0, 0])
                taken[scope] = [a + b for a, b in zip(spent_there, reserved_there, strict=True)]
                for now, then, most in zip(taken[scope], before, model.scopes[scope].values(), strict=True):
                    assert most is None or now <= max(most, then), "beyond its ceiling only where that was lowered"


@pytest.mark.parametrize(
    ("account", "short", "named"),
    [
        ((None, 100, 2_000_000), Money(tokens=91), ["91", "90", "max_tokens"]),
        ((0, None, None), Money(requests=1), ["max_requests"]),
        ((None, None, 1_000_000), Money(nanousd=1_500_000), ["$0.0015", "$0.001", "budget"]),
        ((0, 1_000, 0), Money(requests=1, nanousd=1_500_000), ["$0.0015", "$0", "max_requests", "budget"]),
    ],
)
def test_the_refusal_names_what_is_short_and_what_is_left(account: Any, short: Money, named: list[str]) -> None:
    amount = Money(requests=1, tokens=91, nanousd=1_500_000)
    event = ModelCallBegan(attempt="plan/a1", call_id="plan/t0", model="m", reserved=amount, kept=Money(tokens=10))
    with refused(BudgetRefused, scope="", short_of=short) as error:
        Budget(Account(Ceiling(*account))).apply([event])
    assert re.findall(r"\$?[\d.]*\d|max_\w+|budget", str(error.value)) == named


def test_a_run_without_scopes_costs_no_statement_for_them() -> None:
    with closing(memory()) as connection:
        start(connection, Limits())
        statements: list[str] = []
        connection._raw.set_trace_callback(statements.append)
        for number in range(3):
            call = ModelCallBegan(attempt="a/a1", call_id=f"t{number}", model="m", reserved=Money(tokens=1))
            transact(connection, append([call]))
        transact(connection, append([AttemptReturned(attempt="a/a1", lost=True, failure=LOST)]))
        assert any("reservations" in statement for statement in statements)
        assert [statement for statement in statements if "allowances" in statement] == []


def test_amounts_beyond_reason_do_not_break_the_books() -> None:
    with closing(memory()) as connection:
        start(connection, Limits(budget=None))
        huge = ModelCallBegan(
            attempt="a/a1", call_id="t0", model="m", reserved=Money(requests=-1, tokens=2**90, nanousd=2**90)
        )
        (outcome,) = transact(connection, append([huge]))
        assert isinstance(outcome, list)
        assert books(connection)[2] == {"requests": 0, "tokens": LARGEST, "nanousd": LARGEST}
