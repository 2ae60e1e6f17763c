"""The card that describes an approval request: the whole call and everything known about it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from leadhand.app.formatting import age, duration, money, shortened
from leadhand.app.runtime import Runtime
from leadhand.app.steering.approvals import OpenApproval
from leadhand.cli.terminal.plan_text import plan_lines
from leadhand.core.approval import Approval, Preview
from leadhand.core.ids import step_of
from leadhand.core.state import RunState
from leadhand.core.value import Json

MAX_VALUE = 4_000
"""Maximum characters of one argument; ``approvals list --json`` shows all of them."""
MAX_REQUEST = 200
MIN_WIDTH = 40
INDENT = " " * 10
"""The indent of the second and later lines of a fact."""
EFFECTS = {
    "pure": "only reads",
    "idempotent": "repeating it changes nothing more",
    "once": "irreversible",
}


def question(approval: Approval) -> str:
    """Return the question in one line."""
    if approval.kind == "plan":
        return "Carry out this plan?"
    if approval.kind == "effect":
        return f"Did {approval.tool} go through? It started, and its end was not recorded."
    return f"Allow {approval.tool}?"


async def requester(runtime: Runtime, pending: OpenApproval) -> str:
    """Return who requests the approval if that is a worker started by another worker, else ""."""
    approval = pending.approval
    key = step_of(approval.attempt)
    if (key.startswith("wo-") and "/" not in key) or approval.asked_for not in ("", key):
        return ""
    return _named(await runtime.load(pending.run_id), key)


def _named(state: RunState, key: str) -> str:
    if key not in state.steps:
        return key
    step = state.steps[key].step
    if step.parent is None:
        return step.name
    return f"{step.name} (for {_named(state, step_of(step.parent))})"


def card(
    pending: OpenApproval,
    now: datetime,
    *,
    width: int | None,
    args: dict[str, Any] | None = None,
    by: str = "",
    preview: Preview | None = None,
) -> list[str]:
    """Return the lines below the question: arguments, effect, cost, requester, run and deadline.

    ``width`` is the number of columns, None for no limit. ``args`` replace the arguments of the call, and a ``preview``
    of what it would make is shown in their place; ``by`` is the requester if the question does not name it (see
    :func:`requester`).
    """
    if pending.approval.kind == "plan":
        about = (line for fact in _about(pending, now, by) for line in _wrapped(fact, width))
        return [*(f"  {_exact(line)}" for line in plan_lines(pending.approval.args)), *about]
    lines = [] if preview is None else [f"  {line}" for line in _previewed(preview)]
    facts = [*(_arguments(pending, args) if preview is None else _rights(preview)), *_facts(pending, now, by)]
    return [*lines, *(line for fact in facts for line in _wrapped(fact, width))]


def _previewed(preview: Preview) -> Iterator[str]:
    """Yield the lines of what a call would make, as they would be written."""
    yield f"{_exact(preview.title)}:"
    yield from (f"  {_exact(line)}" for line in preview.text.rstrip("\n").split("\n"))


def _rights(preview: Preview) -> Iterator[str]:
    yield _fact("tools", ", ".join(preview.tools) or "none")
    limits = [f"{name} {value:g}" for name, value in preview.limits.items()]
    yield _fact("limits", ", ".join(limits) or "those of the run and of the worker that calls it")


def _arguments(pending: OpenApproval, args: dict[str, Any] | None) -> Iterator[str]:
    approval = pending.approval
    given = approval.args if args is None else args
    for name, value in given.items():
        origin = approval.origins.get(name, "") if value == approval.args.get(name) else "you"
        yield f"{_exact(name)} = {_value(value)}{f' (from {origin})' if origin else ''}"
    if not given:
        yield "no arguments"


def _facts(pending: OpenApproval, now: datetime, by: str) -> Iterator[str]:
    approval = pending.approval
    yield _fact("effect", f"{approval.effect.value}: {EFFECTS[approval.effect.value]}")
    yield _fact("cost", "not stated by the tool" if approval.cost_usd is None else f"about {money(approval.cost_usd)}")
    yield from _about(pending, now, by)


def _about(pending: OpenApproval, now: datetime, by: str) -> Iterator[str]:
    approval = pending.approval
    key = step_of(approval.attempt)
    name = by or approval.asked_for
    who = key if name in ("", key) else f"{name} ({key})"
    yield _fact("by", f"{who}, {age(pending.asked_at, now)} ago")
    if approval.hook_reason:
        yield _fact("hook", _exact(f"{approval.hook} asks: {approval.hook_reason}"))
    yield _fact("run", pending.run_id)
    yield _fact("for", shortened(pending.request, MAX_REQUEST))
    if approval.expires_at is not None:
        left = (approval.expires_at - now).total_seconds()
        yield _fact("expires", f"in {duration(left)}, then denied" if left > 0 else "now: denied")


def _fact(word: str, text: str) -> str:
    return f"{word:<7} {text}"


def _value(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if len(written) > MAX_VALUE:
        rest = f"… ({len(written):,} characters in all: leadhand approvals list --json)"
        return _exact(written[:MAX_VALUE]) + rest
    return _exact(written)


def _exact(text: str) -> str:
    """Return text with non-printing and direction-changing characters escaped, so that nothing is hidden."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode() if ord(letter) > 0x7F else f"\\x{ord(letter):02x}"


def _wrapped(fact: str, width: int | None) -> list[str]:
    if width is None:
        return [f"  {fact}"]
    return textwrap.wrap(
        fact,
        max(MIN_WIDTH, width),
        initial_indent="  ",
        subsequent_indent=INDENT,
        break_on_hyphens=False,
    )
