"""What a person is shown of a question before answering it: the whole call, and all that is known about it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from leadhand.app.approvals import OpenApproval
from leadhand.app.formatting import age, child_label, duration, money, shortened
from leadhand.app.runtime import Runtime
from leadhand.domain.approval import Approval
from leadhand.domain.ids import assignment_of
from leadhand.domain.listing import is_subtask
from leadhand.domain.state import RunState
from leadhand.domain.value import Json

LONGEST_VALUE = 4_000
"""Characters of one argument that are shown; ``approvals list --json`` has all of them."""
LONGEST_REQUEST = 200
NARROWEST = 40
UNDER = " " * 10
"""What stands under the words of a fact that takes several lines."""
MEANING = {
    "pure": "it only reads",
    "idempotent": "calling it twice does no more than once",
    "once": "it does something that cannot be taken back",
}


def question(approval: Approval) -> str:
    """What is asked, in one line."""
    if approval.kind == "effect":
        return f"Did {approval.tool} happen? It had begun, and nobody saw its end."
    return f"May {approval.tool} be called?"


async def asker(runtime: Runtime, asked: OpenApproval) -> str:
    """Who asks, when it is a worker that works for another one: its key is that of a call. Else ""."""
    approval = asked.approval
    key = assignment_of(approval.attempt)
    if is_subtask(key) or approval.asked_for not in ("", key):
        return ""
    return _named(await runtime.load(asked.run_id), key)


def _named(state: RunState, key: str) -> str:
    if key in state.assignments:
        return state.assignments[key].subtask.name
    assignment = state.assignments[key].assignment if key in state.assignments else None
    told = (
        {"name": assignment.title, "args": assignment.input} if assignment is not None and assignment.parent else None
    )
    if assignment is None or assignment.parent is None or told is None:
        return key
    return child_label(told["name"], _named(state, assignment_of(assignment.parent)))


def card(
    asked: OpenApproval, now: datetime, *, width: int | None, args: dict[str, Any] | None = None, by: str = ""
) -> list[str]:
    """The lines below the question: arguments, effect, cost, who asks, how long it stands.

    ``width``: the columns there are, None for as many as it takes. ``args`` are those a person wants instead,
    ``by`` is who asks, where the question does not say (see :func:`asker`).
    """
    return [line for fact in _facts(asked, now, args, by) for line in _wrapped(fact, width)]


def _facts(asked: OpenApproval, now: datetime, args: dict[str, Any] | None, by: str) -> Iterator[str]:
    approval = asked.approval
    given = approval.args if args is None else args
    for name, value in given.items():
        origin = approval.origins.get(name, "") if value == approval.args.get(name) else "you"
        yield f"{_exact(name)} = {_value(value)}{f' (from {origin})' if origin else ''}"
    if not given:
        yield "no arguments"
    yield _fact("effect", f"{approval.effect.value}: {MEANING[approval.effect.value]}")
    yield _fact("cost", "the tool does not say" if approval.cost_usd is None else f"about {money(approval.cost_usd)}")
    key = assignment_of(approval.attempt)
    name = by or approval.asked_for
    who = key if name in ("", key) else f"{name} ({key})"
    yield _fact("asked", f"by {who}, {age(asked.asked_at, now)} ago")
    yield _fact("run", asked.run_id)
    yield _fact("for", shortened(asked.request, LONGEST_REQUEST))
    if approval.expires_at is not None:
        left = (approval.expires_at - now).total_seconds()
        told = f"in {duration(left)}; then it counts as a no" if left > 0 else "now: it counts as a no"
        yield _fact("expires", told)


def _fact(word: str, text: str) -> str:
    return f"{word:<7} {text}"


def _value(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if len(written) > LONGEST_VALUE:
        told = f"… ({len(written):,} characters in all: leadhand approvals list --json)"
        return _exact(written[:LONGEST_VALUE]) + told
    return _exact(written)


def _exact(text: str) -> str:
    """Text in which nothing hides: what does not print, or turns the direction of writing, is spelled out."""
    return "".join(letter if letter.isprintable() else _spelled(letter) for letter in text)


def _spelled(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode() if ord(letter) > 0x7F else f"\\x{ord(letter):02x}"


def _wrapped(fact: str, width: int | None) -> list[str]:
    if width is None:
        return [f"  {fact}"]
    return textwrap.wrap(
        fact,
        max(NARROWEST, width),
        initial_indent="  ",
        subsequent_indent=UNDER,
        break_on_hyphens=False,
    )
