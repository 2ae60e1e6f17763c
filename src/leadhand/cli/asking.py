"""Puts the open questions of a run to the person at the terminal."""

from __future__ import annotations

import json
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from leadhand.app import approvals
from leadhand.app.approvals import OpenApproval
from leadhand.app.formatting import clean
from leadhand.app.runtime import Runtime
from leadhand.cli.cards import asker, card, question
from leadhand.cli.console import complain, say, width
from leadhand.domain.errors import UsageError
from leadhand.domain.value import Json
from leadhand.runs import user

MAY_IT = "yes, no, edit, always, or later?"
DID_IT = "yes (it happened), no (it did not), result, or later?"


class _Later(Exception):
    """The person answers another time."""


async def ask_for_approvals(runtime: Runtime, run_id: str) -> bool:
    """Put every open question of a waiting run, oldest first; whether one has its answer, so that the run can go on."""
    answered = False
    put: set[str] = set()
    while True:
        every = await approvals.open_approvals(runtime, run_id)
        answered = answered or any(asked.expired for asked in every)
        left = [asked for asked in reversed(every) if not asked.expired and asked.id not in put]
        if not left:
            return answered
        put.add(left[0].id)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C here means: later
        try:
            await _put(runtime, left[0])
        except (_Later, KeyboardInterrupt):
            return answered
        except UsageError as error:
            complain(error.what, error.how)  # answered elsewhere meanwhile, or too late: either way the run can go on
        finally:
            signal.signal(signal.SIGINT, before)
        answered = True


async def _put(runtime: Runtime, asked: OpenApproval) -> None:
    """Put one question and see to its answer. Raises UsageError when it is too late for that."""
    by = await asker(runtime, asked)
    _show(asked, by=by)
    if asked.approval.kind == "effect":
        await _effect(runtime, asked)
    else:
        await _call(runtime, asked, by)


def _show(asked: OpenApproval, args: dict[str, Any] | None = None, *, by: str) -> None:
    say()
    say(question(asked.approval))
    for line in card(asked, datetime.now(UTC), width=width(), args=args, by=by):
        say(line)


async def _call(runtime: Runtime, asked: OpenApproval, by: str) -> None:
    args: dict[str, Any] | None = None
    while True:
        word = _read(MAY_IT).lower()
        if word in ("y", "yes", "a", "always"):
            always = word in ("a", "always")
            return await approvals.approve(runtime, asked, by=user(), args=args, always=always)
        if word in ("n", "no"):
            return await approvals.deny(runtime, asked, by=user(), reason=_read("reason, if you like:"))
        if word in ("e", "edit"):
            args = await _edited(runtime, asked, args, by)


async def _edited(runtime: Runtime, asked: OpenApproval, args: dict[str, Any] | None, by: str) -> dict[str, Any] | None:
    """The arguments that the person wants instead, shown once more before anything comes of them."""
    say(f"  {json.dumps(asked.approval.args if args is None else args, ensure_ascii=False)}")
    text = _read("the same as you want it, in one line of JSON (nothing: as it is):")
    if not text:
        return args
    try:
        wanted: Any = json.loads(text)
        faults = approvals.changed_faults(await runtime.load(asked.run_id), asked.approval, wanted)
    except UsageError as error:
        faults = [error.what, error.how]
    except ValueError as error:
        faults = [f"that is no JSON: {error}"]
    else:
        if not faults:
            _show(asked, wanted, by=by)
            return wanted
    for fault in faults:
        say(f"  {fault}")
    return args


async def _effect(runtime: Runtime, asked: OpenApproval) -> None:
    while True:
        word = _read(DID_IT).lower()
        if word in ("y", "yes", "h", "happened", "it happened"):
            return await approvals.settle_effect(runtime, asked, by=user(), happened=True)
        if word in ("n", "no", "it did not", "did not"):
            return await approvals.settle_effect(runtime, asked, by=user(), happened=False)
        if word in ("r", "result"):
            text = _read("what it returned, in words or JSON (nothing: back):")
            if text:
                summary, raw = _result(text)
                return await approvals.settle_effect(runtime, asked, by=user(), happened=True, summary=summary, raw=raw)


def _result(text: str) -> tuple[str, Json]:
    """A result as a person types it: words, or JSON, which needs no words beside it."""
    try:
        return "", json.loads(text)
    except ValueError:
        return text, text


def agreed(prompt: str) -> bool:
    """Whether the person at the terminal says yes; silence, and Ctrl-C, are a no."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _read(prompt).lower() in ("y", "yes")
    except (_Later, KeyboardInterrupt):
        return False
    finally:
        signal.signal(signal.SIGINT, before)


def _read(prompt: str) -> str:
    """A line from the terminal. Raises _Later at its end, and when that was the word."""
    sys.stderr.write(f"  {prompt} ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        say()
        raise _Later
    word = clean(line).strip()
    if word.lower() in ("l", "later"):
        raise _Later
    return word
