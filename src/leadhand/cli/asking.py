"""Asks the person at the terminal for the approvals that a run waits for."""

from __future__ import annotations

import json
import signal
import sys

from leadhand.api import Leadhand, user
from leadhand.cli.console import clean, say
from leadhand.domain.approval import Approval, ApprovalStatus, args_hash
from leadhand.domain.events import ApprovalAnswered
from leadhand.domain.state import RunState


async def ask_for_approvals(lead: Leadhand, state: RunState) -> bool:
    """Put every open question of a waiting run; whether one was answered, so that the run can go on."""
    runtime = await lead.runtime()
    answered = False
    for approval in state.approvals.values():
        if approval.status is not ApprovalStatus.PENDING:
            continue
        approve = _ask(approval)
        if approve is None:
            return answered
        answer = ApprovalAnswered(
            by=user(), approval_id=approval.approval_id, approve=approve, args_hash=args_hash(approval.args)
        )
        await runtime.log(state.run_id).append(answer)
        answered = True
    return answered


def _ask(approval: Approval) -> bool | None:
    """Yes, no, or None for later."""
    say()
    say(f"May {approval.tool} be called? ({approval.effect.value}: {_MEANING[approval.effect.value]})")
    for name, value in approval.args.items():
        say(f"  {name} = {json.dumps(value, ensure_ascii=False)}")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C here means: later
    try:
        while True:
            sys.stderr.write("  yes, no, or later? ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            match clean(line).strip().lower():
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
                case "l" | "later":
                    return None
                case _ if not line:
                    say()
                    return None
                case _:
                    continue
    except KeyboardInterrupt:
        say()
        return None
    finally:
        signal.signal(signal.SIGINT, before)


_MEANING = {
    "pure": "it only reads",
    "idempotent": "calling it twice does no more than once",
    "once": "it does something that cannot be taken back",
}
