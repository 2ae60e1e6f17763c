"""Prompts the person at the terminal for the pending approvals of a run."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from leadhand.app.export.formatting import clean, one_line
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import user
from leadhand.app.steering import approvals, questions
from leadhand.app.steering.approvals import OpenApproval
from leadhand.cli.options import json_or_text
from leadhand.cli.terminal.approval_card import card, question
from leadhand.cli.terminal.messages import choice_lines
from leadhand.cli.terminal.streams import print_error, say, width
from leadhand.core.approval import Approval, Question, described
from leadhand.core.errors import UsageError
from leadhand.core.relations import open_question

ALLOW_CALL = "yes, no, edit, always, or later?"
WENT_THROUGH = "yes (it went through), no (it did not), result, or later?"
ALLOW_PLAN = "yes, no, or later?"
PROMPTS = {"call": ALLOW_CALL, "plan": ALLOW_PLAN, "effect": WENT_THROUGH}
WORDS = {letter: word for word in ("yes", "no", "edit", "always", "result") for letter in (word, word[0])}


class _Later(Exception):
    """The person postpones the answer."""


async def prompt_for_answers(runtime: Runtime, run_id: str) -> bool:
    """Prompt for the answers to the open questions of a run and its pending approvals; return whether there is any."""
    answered = False
    while (asked := open_question(await runtime.load(run_id))) is not None:
        if not await _reply(runtime, run_id, asked):
            return answered
        answered = True
    return await prompt_for_approvals(runtime, run_id) or answered


async def _reply(runtime: Runtime, run_id: str, asked: Question) -> bool:
    """Prompt for the answer to a question, which may be the number of a choice; return whether it is given."""
    for line in ("", one_line(asked.text), *choice_lines(asked)):
        say(line)
    try:
        with _interruptible():
            while not (said := _read("your answer, or later:")):
                pass
            await questions.reply(runtime, run_id, said, by=user(), question_id=asked.id)
    except _Later:
        return False
    except UsageError as error:
        print_error(error.what, error.how)  # answered elsewhere
    return True


async def prompt_for_approvals(runtime: Runtime, run_id: str) -> bool:
    """Prompt for every pending approval of a run, oldest first. Return whether any is answered or expired."""
    answered = False
    shown: set[str] = set()
    while True:
        every = await approvals.open_approvals(runtime, run_id)
        answered = answered or any(approval.expired for approval in every)
        left = [approval for approval in reversed(every) if not approval.expired and approval.id not in shown]
        if not left:
            return answered
        shown.add(left[0].id)
        try:
            with _interruptible():
                await _prompt(runtime, left[0])
        except _Later:
            return answered
        except UsageError as error:
            print_error(error.what, error.how)  # answered elsewhere or expired: the run can resume
        answered = True


async def _prompt(runtime: Runtime, pending: OpenApproval) -> Approval:
    """Prompt for one approval, store the answer and return it. Raises UsageError if it is no longer pending."""
    kind = pending.approval.kind
    args: dict[str, Any] | None = None
    answer = partial(approvals.answer, runtime, pending, by=user())
    settle = partial(approvals.settle_effect, runtime, pending, by=user())
    _show(pending)
    while True:
        match kind, WORDS.get(_read(PROMPTS[kind]).lower()):
            case "effect", "yes" | "no" as word:
                return await settle(happened=word == "yes")
            case "effect", "result":
                if text := _read("its result, as text or JSON (empty: back):"):
                    raw = json_or_text(text)
                    return await settle(happened=True, summary=text if raw is text else "", raw=raw)
            case "call" | "plan", "yes":
                return await answer(approve=True, args=args)
            case "plan", "no":
                return await answer(approve=False, reason=_read("what should change? (empty: end the run)"))
            case "call", "no":
                return await answer(approve=False, reason=_read("reason (optional):"))
            case "call", "always":
                return await answer(approve=True, args=args, always=True)
            case "call", "edit":
                args = await _edited(runtime, pending, args)
            case _:
                pass


def _show(pending: OpenApproval) -> None:
    facts = card(pending, datetime.now(UTC), width=width())
    for line in ("", question(pending.approval), *facts):
        say(line)


async def _edited(runtime: Runtime, pending: OpenApproval, args: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the arguments as the person edited them, after showing the card with them again."""
    say(f"  {json.dumps(pending.approval.args if args is None else args, ensure_ascii=False)}")
    text = _read("new arguments, as one line of JSON (empty: keep these):")
    if not text:
        return args
    try:
        edited: Any = json.loads(text)
        state = await runtime.load(pending.run_id)
        faults = approvals.changed_faults(runtime, state, pending.approval, edited)
        if not faults:
            asked = pending.approval
            origins = {name: asked.origins.get(name, "") for name in edited if edited[name] == asked.args.get(name)}
            about = {"origins": dict.fromkeys(edited, "you") | origins, **described(state.tools[asked.tool], edited)}
            _show(replace(pending, approval=asked.evolve(args=edited, **about)))
            return edited
    except UsageError as error:
        faults = [error.what, error.how]
    except ValueError as error:
        faults = [f"invalid JSON: {error}"]
    for fault in faults:
        say(f"  {fault}")
    return args


def confirmed(prompt: str) -> bool:
    """Ask for yes or no. The end of the input and Ctrl-C count as no."""
    try:
        with _interruptible():
            return _read(prompt).lower() in ("y", "yes")
    except _Later:
        return False


@contextlib.contextmanager
def _interruptible() -> Generator[None]:
    """Let Ctrl-C raise _Later inside the block."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        raise _Later from error
    finally:
        signal.signal(signal.SIGINT, before)


def _read(prompt: str) -> str:
    """Read a line from the terminal. Raises _Later at the end of the input and for the answer "later"."""
    sys.stderr.write(f"  {prompt} ")
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        say()  # what follows begins on a line of its own
        raise
    if not line:
        say()
        raise _Later
    word = clean(line).strip()
    if word.lower() in ("l", "later"):
        raise _Later
    return word
