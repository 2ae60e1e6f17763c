"""How a run is announced, answered and closed, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from leadhand.app.approvals import approval_id
from leadhand.app.formatting import clean, count, duration, label, money, one_line, shortened, spent
from leadhand.app.runtime import Runtime
from leadhand.app.settings import tilde
from leadhand.cli.console import out_is_terminal, say
from leadhand.cli.options import Place
from leadhand.domain.approval import ApprovalStatus
from leadhand.domain.errors import Failure
from leadhand.domain.limits import usd
from leadhand.domain.listing import RunListing
from leadhand.domain.remedies import next_action
from leadhand.domain.run import CitedSource, Gap, RunDefinition
from leadhand.domain.state import RunState

LONGEST_WHY = 1_000
"""Characters that are told of a reason."""
LONGEST_ANSWER = 50_000
"""Characters of an answer that a terminal is shown; a pipe gets all of it."""


def opening(
    run_id: str, definition: RunDefinition, *, why: str, kept: str, unpriced: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """The first lines: the run, its models and why these, the limits that hold, where it is kept."""
    yield "run", run_id
    models = definition.models
    roles = [f"{role}: {name}" for role, name in models.roles.items()]
    yield "model", ", ".join([models.default, *roles]) + (f" ({why})" if why else "")
    yield "limits", limits_line(definition)
    if unpriced and definition.limits.budget_nanousd is not None:
        yield "", f"the price of {', '.join(unpriced)} is not known: the money limit does not bind it"
    yield "kept", kept


def limits_line(definition: RunDefinition) -> str:
    """The limits of a run that a person cares for."""
    limits = definition.limits
    parts = [
        "no budget" if limits.budget_nanousd is None else money(usd(limits.budget_nanousd)),
        "no time limit" if limits.timeout_s is None else _limit(limits.timeout_s),
        count(limits.max_steps, "work order"),
        f"{count(limits.max_workers, 'worker')} at once",
    ]
    if limits.batch_size is not None:
        parts.append(f"groups of {limits.batch_size:,}")
    if limits.approval_timeout_s is not None:
        parts.append(f"{_limit(limits.approval_timeout_s)} for an answer")
    return " · ".join(parts)


def _limit(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 60 else duration(seconds)


def kept_in(runtime: Runtime) -> str:
    """The database, as people name it: never with a password."""
    path = runtime.settings.database_path
    if path is not None:
        return tilde(path)
    from leadhand.stores.opening import database_at

    return database_at(runtime.settings.database).name


def answer_text(answer: str, sources: tuple[CitedSource, ...], *, run_id: str) -> str:
    """The answer, then its sources by number. On a terminal, the beginning of one that nobody would scroll through."""
    lines = [clean(answer).strip("\n")]
    if out_is_terminal() and len(lines[0]) > LONGEST_ANSWER:
        told = f"… ({len(lines[0]):,} characters in all: leadhand runs show {run_id} --json)"
        lines = [lines[0][:LONGEST_ANSWER].rstrip() + told]
    if sources:
        lines += ["", "Sources:", *(source_line(number, source) for number, source in enumerate(sources, start=1))]
    return "\n".join(lines) + "\n"


def source_line(number: int, source: CitedSource) -> str:
    """One source under its number."""
    return one_line(f"[{number}] {source.title}  {source.url}")


def gap_lines(gaps: Iterable[Gap], *, told: str = "") -> Iterator[str]:
    """What the answer does not hold, two lines a gap; but for those whose reason was ``told`` already."""
    for gap in gaps:
        if gap.reason in told:
            continue
        where = f"{gap.work_order_id}.{gap.subtask_index} " if gap.work_order_id is not None else ""
        yield _entry("gap", shortened(f"{where}{gap.name}: {gap.reason} ({gap.class_.value})", LONGEST_WHY))
        if gap.next_action:
            yield _entry("", gap.next_action)


def failure_lines(state: RunState, failure: Failure, *, told: str = "") -> Iterator[str]:
    """Why a run failed, and what a person can do about it; but for what was ``told`` already."""
    if failure.message not in told:
        kind = f" ({failure.class_.value}, {failure.type})"
        yield _entry("why", shortened(failure.message, LONGEST_WHY) + kind)
    how = next_action(state, failure)
    if how.casefold() not in told.casefold():
        yield _entry("", how)


def _entry(word: str, text: str) -> str:
    return f"{word:<7} {one_line(text)}"


def closing(state: RunState, show: str) -> Iterator[str]:
    """The last lines: gaps, why it failed, and in one line status, time, spending and where to look."""
    finished = state.finished
    if finished is not None:
        yield from gap_lines(finished.gaps, told=finished.answer)
        if finished.failure is not None:
            seen = any(each.failure == finished.failure for each in state.assignments.values())  # told when it failed
            yield from failure_lines(state, finished.failure, told=finished.answer if seen else "")
    when = "in" if finished is not None else "after"
    yield f"{state.status.value} {when} {duration(active_s(state))} · {spending(state)} · {show}"


def asked_lines(state: RunState, place: Place) -> Iterator[str]:
    """The open questions of a run, each with the command that answers it."""
    for approval in state.approvals.values():
        if approval.status is ApprovalStatus.PENDING:
            command = "approve" if approval.kind == "call" else "settle"
            answer = place.command("approvals", command, approval_id(state.run_id, approval))
            yield f"{label(approval.tool, approval.args)}: {answer}"


def tools_of(definition: RunDefinition) -> list[str]:
    """What ``--tools`` has to name for a run to find its tools again, as far as its log tells.

    A file below the working directory is named from there.
    """
    modules = dict.fromkeys(tool.import_path.rpartition(":")[0] for tool in definition.tools)
    return [_from_here(name) for name in modules if name and not name.startswith(("leadhand.", "__main__"))]


def _from_here(module: str) -> str:
    path = Path(module)
    below = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if below else module


def spending(state: RunState) -> str:
    """What the run spent so far."""
    cost = None if state.unpriced else usd(state.spent.nanousd)
    return spent(state.spent.requests, state.input_tokens + state.output_tokens, cost)


def active_s(state: RunState) -> float:
    """Seconds from the start to the end, or to the last thing that happened, less the time it rested."""
    end = state.finished_at or state.rest_since or state.last_at or datetime.now(UTC)
    return max(0.0, (end - state.created_at - state.rested).total_seconds())


def say_lines(lines: Iterator[str]) -> None:
    """Write lines to stderr."""
    for line in lines:
        say(line)


def say_table(rows: Iterator[tuple[str, str]]) -> None:
    """Write words and what they stand for to stderr, aligned."""
    for word, text in rows:
        say(_entry(word, text))


def status_words(listing: RunListing) -> str:
    """The status; of a run that should be driven and is not, that too."""
    return f"{listing.status.value}, orphaned" if listing.orphan else listing.status.value
