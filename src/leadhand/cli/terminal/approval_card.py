"""The card that describes an approval request: the whole call or plan, and everything known about it."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from leadhand.app.export.formatting import age, duration, shortened
from leadhand.app.steering.approvals import OpenApproval
from leadhand.core.approval import Approval
from leadhand.core.ids import step_of
from leadhand.core.tool import Effect
from leadhand.core.value import Json, compact_json, is_object, list_of, object_of, objects_of, text_of
from leadhand.core.words.failures import written_call

MAX_VALUE = 4_000
"""Maximum characters of one argument; ``approvals list --json`` shows all of them."""
MAX_REQUEST = 200
MIN_WIDTH = 40
INDENT = " " * 10
"""The indent of the second and later lines of a fact."""
EFFECTS = {
    Effect.PURE: "only reads",
    Effect.IDEMPOTENT: "repeating it changes nothing more",
    Effect.ONCE: "irreversible",
}


def question(approval: Approval) -> str:
    """Return the question in one line."""
    if approval.kind == "plan":
        return "Carry out this plan?"
    if approval.kind == "effect":
        return f"Did {approval.called} go through? It started, and its end was not recorded."
    return f"Allow {approval.called}?"


def card(pending: OpenApproval, now: datetime, *, width: int | None) -> list[str]:
    """Return the lines below the question: where the call goes, arguments, effect, requester, run and deadline.

    ``width`` is the number of columns, None for no limit; no argument can look like a line of the card.
    """
    columns = sys.maxsize if width is None else max(MIN_WIDTH, width)
    wrap = textwrap.TextWrapper(columns, initial_indent="  ", subsequent_indent=INDENT, break_on_hyphens=False).wrap
    return [line for fact in _card(pending, now) for line in wrap(fact) or [""]]


def _card(pending: OpenApproval, now: datetime) -> Iterator[str]:
    approval, key = pending.approval, step_of(pending.approval.attempt)
    if approval.kind == "plan":
        yield from map(_exact, plan_lines(approval.args))
    else:
        if approval.target:
            yield f"calls   {_exact(approval.target)}"
        if approval.summary:
            yield f"about   {_exact(approval.summary)}"
        for name, value in approval.args.items():
            origin = approval.origins.get(name, "")
            yield f"{_exact(name)} = {_value(value)}{f' (from {origin})' if origin else ''}"
        if not approval.args:
            yield "no arguments"
    if approval.kind != "plan":
        yield f"effect  {approval.effect.value}: {EFFECTS[approval.effect]}"
    name = approval.asked_for
    yield f"by      {key if name in ('', key) else f'{name} ({key})'}, {age(pending.asked_at, now)} ago"
    if approval.hook_reason:
        yield f"hook    {_exact(f'{approval.hook} asks: {approval.hook_reason}')}"
    yield f"run     {pending.run_id}"
    yield f"for     {shortened(pending.request, MAX_REQUEST)}"
    if approval.expires_at is not None:
        left = (approval.expires_at - now).total_seconds()
        yield f"expires {f'in {duration(left)}, then denied' if left > 0 else 'now: denied'}"


def _value(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if len(written) > MAX_VALUE:
        rest = f"… ({len(written):,} characters in all: leadhand approvals list --json)"
        return _exact(written[:MAX_VALUE]) + rest
    return _exact(written)


def _exact(text: str) -> str:
    """Return text with non-printing and direction-changing characters escaped, so that nothing is hidden."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan: every subtask or section, what each needs, what no tool can do, and all else."""
    yield f"Plan: {text_of(plan.get('goal')) or text_of(plan.get('title')) or 'without a title'}"
    lists = {name for name in ("subtasks", "sections", "cannot") if all(map(is_object, list_of(plan.get(name))))}
    for name, value in plan.items():
        if name not in lists and not (name in ("goal", "title") and text_of(value)):
            yield f"  {name}: {_value(value)}"
    for number, subtask in enumerate(objects_of(list_of(plan.get("subtasks"))), start=1):
        yield f"  {number}. {_subtask(subtask)}"
    for number, section in enumerate(objects_of(list_of(plan.get("sections"))), start=1):
        heading, question = text_of(section.get("heading")), text_of(section.get("question"))
        yield f"  {number}. {heading}: {question}" if heading else f"  {number}. {question}"
    for part in objects_of(list_of(plan.get("cannot"))):
        yield f"  Not possible: {text_of(part.get('what'))} ({text_of(part.get('reason'))})"


def _subtask(subtask: Mapping[str, Any]) -> str:
    tool, worker, args = text_of(subtask.get("tool")), text_of(subtask.get("worker")), object_of(subtask.get("args"))
    parts = [text_of(subtask.get("name"))]
    if tool:
        parts.append(written_call(tool, args))
    elif args:
        parts.append(compact_json(args))
    if worker:
        parts.append(f"by {worker}")
    if needs := [_number(str(key)) for key in list_of(subtask.get("needs"))]:
        parts.append(f"after {', '.join(needs)}")
    return " · ".join(parts)


def _number(key: str) -> str:
    """Return a need as people count: the place of a subtask in the list."""
    _, dot, index = key.rpartition(".")
    return str(int(index) + 1) if dot and index.isdecimal() else key
