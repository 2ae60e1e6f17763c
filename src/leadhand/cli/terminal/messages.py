"""The lines that announce a run, its answer, its gaps and its end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadhand.app.export.formatting import (
    LONGEST_LINE,
    clean,
    count,
    duration,
    label,
    money,
    one_line,
    short_id,
    shortened,
    spent,
)
from leadhand.app.export.outcome import (
    MOST_CAUSES,
    beside,
    calls_made,
    cause_lines,
    causes_of,
    done_calls,
    evidence_part,
    outcome_part,
    waits_for,
)
from leadhand.app.new_limits import flags_of, proposed_limits
from leadhand.app.project.flows import DEFAULT
from leadhand.app.project.source_files import INSTALLED
from leadhand.app.project.tool_sources import KINDS
from leadhand.app.project.toolsets import GROUP, entry_points
from leadhand.app.runtime.model_selection import CUSTOM
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import tilde
from leadhand.cli.options import StoreFlags, sources_given
from leadhand.cli.terminal.streams import err_is_terminal, out_is_terminal, say, width, write_line
from leadhand.core.approval import ApprovalStatus, Question, approval_id
from leadhand.core.errors import ConfigurationError, LeadhandError
from leadhand.core.limits import usd
from leadhand.core.relations import open_plan, open_question
from leadhand.core.run import CitedSource, RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.core.text import cut
from leadhand.core.work_result import Judgement
from leadhand.flows.facts import ASSUMED_WINDOW
from leadhand.ports.runs import RunListing, duration_s
from leadhand.stores.opening import database_at
from leadhand.tools.source import origin_of

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project

LEAST_LAST = 12
"""Columns of the last column of a table on a terminal."""
MOST_APPROVALS = 3
"""Pending approvals of a run that are listed."""
LONGEST_QUESTION = 2_000


def say_opening(runtime: Runtime, run_id: str, definition: RunDefinition, *, why: str | None = None) -> None:
    """Write the first lines: the run, its models and why these, its limits, its project and its database.

    ``why`` explains the models of an existing run; the models of a new run are chosen by the runtime.
    """
    unpriced = ", ".join(definition.unpriced)
    reason, project = runtime.choice.why if why is None else why, runtime.settings.project
    rows = {
        "run": shown_id(run_id),
        "follows": "" if definition.follows is None else shown_id(definition.follows.run_id),
        "model": models_line(definition) + (f" ({reason})" if reason else ""),
        "window": "; ".join(window_lines(runtime, definition)),
        "limits": limits_line(definition),
        "": unpriced and f"the price of {unpriced} is not known: the budget cannot limit it",
        "project": "" if project is None else str(project.path),
        "database": database_name(runtime),
    }
    say_table((word, text) for word, text in rows.items() if text)


def shown_id(run_id: str) -> str:
    """Return the id of a run as stderr shows it: short on a terminal, since every command takes its beginning."""
    return short_id(run_id) if err_is_terminal() else run_id


def models_line(definition: RunDefinition) -> str:
    """Return the models of a run in one line."""
    models = definition.models
    return ", ".join([models.default, *(f"{use}: {name}" for use, name in models.by_use.items())])


def window_lines(runtime: Runtime, definition: RunDefinition) -> Iterator[str]:
    """What a run takes as the context windows of models that are in no price list, and on what grounds."""
    models = definition.models
    for name in models.names:
        window = models.windows.get(name)
        try:
            if not runtime.models.profile(name).server:
                continue
        except ConfigurationError:  # a process that only watches the run needs no credentials and no address
            continue
        source = "LEADHAND_WINDOW" if runtime.settings.environment.get("LEADHAND_WINDOW") else "server"
        text = f"unknown: {ASSUMED_WINDOW:,} assumed" if window is None else f"{window:,} ({source})"
        yield f"{name}: {text}" if len(models.names) > 1 else text


def limits_line(definition: RunDefinition) -> str:
    """Return the main limits of a run in one line."""
    limits = definition.limits
    parts = (
        "no budget" if limits.budget is None else money(limits.budget),
        "no time limit" if limits.timeout is None else duration(limits.timeout),
        *([count(limits.max_steps, "work order")] if definition.flow == DEFAULT else []),
        count(limits.max_workers, "parallel worker"),
    )
    return " · ".join(parts)


def database_name(runtime: Runtime) -> str:
    """Return the path or URL of the database, without a password."""
    path = runtime.settings.database_path
    if path is not None:
        return tilde(path)
    return database_at(runtime.settings.database).name


def answer_text(answer: str, sources: tuple[CitedSource, ...]) -> str:
    """Return the answer and its numbered sources: rendered on a terminal, else the Markdown as it is."""
    text = clean(answer).strip("\n")
    listed = [one_line(f"[{number}] {each.title}  {each.url}") for number, each in enumerate(sources, start=1)]
    found = ["", "Sources:", *listed] if sources else []
    if not out_is_terminal():
        return "\n".join([text, *found]) + "\n"
    from leadhand.cli.terminal.markdown import rendered

    return "\n".join([rendered(text, width()), *found]) + "\n"


def outcome_lines(state: RunState, store: StoreFlags, *, most: int = MOST_CAUSES) -> Iterator[str]:
    """What is missing from an answer, or why a run failed, with what helps."""
    finished = state.finished
    if finished is None or finished.status not in (RunStatus.PARTIAL, RunStatus.FAILED):
        return
    if finished.status is RunStatus.PARTIAL:
        yield f"{outcome_part(state, {}).headline}."
    causes = causes_of(finished.gaps, finished.failure)
    yield from cause_lines(causes, most=most)
    if len(causes) > most:
        yield f"  all of them: {store.command('runs', 'show', state.run_id, '--full')}"


def next_lines(state: RunState, store: StoreFlags, tools: Iterable[str] = ()) -> Iterator[str]:
    """What a run that rests waits for, and the command that continues it."""
    command = partial(resume_command, store, state.run_id, state.definition, tools)
    resume, asked = command(), open_question(state)
    if state.status is RunStatus.PAUSED:
        yield f"Paused. Resume with: {resume}"
    elif only_planned(state):
        yield f"Nothing was done. Carry the plan out with: {resume}"
    elif state.status is RunStatus.WAITING and asked is not None:
        yield from (f"Question: {one_line(asked.text)}", *choice_lines(asked))
        yield f"Answer with: {command(verb='answer', words=('TEXT',))}"
    elif state.status is RunStatus.WAITING and not any(each.status == "pending" for each in state.approvals.values()):
        yield from signal_lines(state, store) or [f"{waits_for(state)}: {resume}"]
    elif state.status is RunStatus.WAITING:
        lines = list(approval_lines(state, store))
        yield f"{waits_for(state)}. List all requests: {store.command('approvals', 'list')}"
        yield from (f"  {line}" for line in lines[:MOST_APPROVALS])
        yield from [f"  and {len(lines) - MOST_APPROVALS:,} more"] * (len(lines) > MOST_APPROVALS)
        yield f"Then resume the run, or answer on a terminal: {resume}"
    elif state.status in (RunStatus.PARTIAL, RunStatus.FAILED):
        first = outcome_part(state, proposed_limits(state)).actions[0]
        if first.action == "resume":
            yield f"Continue with: {command(more=flags_of(first.args))}"
        elif first.action == "retry":
            how = "Retry with" if first.primary else "To retry what failed"
            yield f"{how}: {command(verb='runs retry')}"
        elif state.status is RunStatus.PARTIAL:
            yield f"Follow up with: {command(verb='run --continue', words=('REQUEST',))}"


def only_planned(state: RunState) -> bool:
    """Whether a run that only had to plan rests with its plan."""
    return state.definition.plan_only and state.status is RunStatus.WAITING and open_plan(state) is not None


def signal_lines(state: RunState, store: StoreFlags) -> list[str]:
    """The signals that a run waits for, each with the command that sends it."""
    asked = (state.questions[key] for key in state.unanswered)
    return [line for each in asked if each.kind == "signal" for line in asked_lines(state.run_id, each, store)]


def asked_lines(run_id: str, asked: Question, store: StoreFlags) -> Iterator[str]:
    """What a run asks while it goes on, and the command that sends the signal or the answer."""
    if asked.kind == "signal":
        yield f"Waiting for the signal {asked.text}. Send it with: {store.command('signal', run_id, asked.text)}"
    yield from answer_lines(run_id, asked, store)


def answer_lines(run_id: str, asked: Question, store: StoreFlags) -> Iterator[str]:
    """A question to a person that expires, how long there is, and the command that answers it; none once it is over."""
    left_s = 0.0 if asked.expires_at is None else (asked.expires_at - datetime.now(UTC)).total_seconds()
    if asked.kind == "person" and left_s > 0:
        if len(text := one_line(asked.text)) > LONGEST_LINE:  # else the line of the event has all of it
            yield cut(text, LONGEST_QUESTION)
        yield from choice_lines(asked)
        yield f"Answer within {duration(left_s)} with: {store.command('answer', run_id, 'TEXT')}"


def choice_lines(asked: Question) -> Iterator[str]:
    """The choices of a question, numbered."""
    yield from (f"  {number}. {one_line(choice)}" for number, choice in enumerate(asked.choices, start=1))


def beside_lines(state: RunState) -> list[str]:
    """The lines beside an answer: what was done, what the answer rests on, and the doubts; none before the end."""
    finished = state.finished
    if finished is None:
        return []
    judgement = finished.judgement or Judgement()
    if state.definition.judging:  # else it does not matter how many claims the answer has
        from leadhand.flows.unjudged import judgement_of

        judgement = judgement_of(state)
    evidence, done = evidence_part(state, judgement), list(done_calls(state))
    return list(beside(finished.answer, evidence, done, calls_made(state), sample=finished.sample))


def say_end(state: RunState, store: StoreFlags, tools: Iterable[str] = ()) -> None:
    """Say what is beside the answer, what is missing, how the run stands, and how it continues."""
    show = store.command("runs", "show", state.run_id)
    total = f"{state.status.value} after {lasted(state)} · {spending(state)} · {show}"
    for line in (*beside_lines(state), *outcome_lines(state, store), total, *next_lines(state, store, tools)):
        say(line)


def approval_lines(state: RunState, store: StoreFlags) -> Iterator[str]:
    """The pending approvals of a run, each with the command that answers it."""
    for approval in state.approvals.values():
        if approval.status is ApprovalStatus.PENDING:
            id_, target = approval_id(state.run_id, approval), f" ({approval.target})" * bool(approval.target)
            what = f"{label(approval.called, approval.args)}{target}"
            if approval.kind == "effect":
                yield f"did it happen? {what}: {store.command('approvals', 'settle', id_, '--happened')} (or --did-not)"
            else:
                what = "the plan" if approval.kind == "plan" else what
                yield f"{what}: {store.command('approvals', 'approve', id_)}"


def resume_command(
    store: StoreFlags,
    run_id: str,
    definition: RunDefinition,
    tools: Iterable[str] = (),
    *,
    verb: str = "runs resume",
    words: Iterable[str] = (),
    more: Iterable[str] = (),
) -> str:
    """Return the command line that resumes a run, with the files that were given, or else those that its log names.

    ``verb`` is another command that continues runs, ``words`` are its further arguments, and ``more`` further flags.
    A run with objects or models of its program continues only there: then it is what its program calls.
    """
    if verb == "runs resume" and (definition.own_deps or CUSTOM in definition.models.names):
        return f"lead.resume({run_id!r}{', deps=…' if definition.own_deps else ''}) in its program"
    return store.command(*verb.split(), run_id, *words, *flags_needed(store, definition, tools), *more)


def flags_needed(store: StoreFlags, definition: RunDefinition, tools: Iterable[str] = ()) -> list[str]:
    """Return the flags of the files that a run needs: those that were given, or else those that its log names."""
    given, loaded = [("--tools", path) for path in tuple(tools) or tools_of(definition)], store.loaded
    if loaded is None and store.project is None and (needed := sources_of(definition, None)):
        nearest = _nearest()  # a command that only reads has loaded none
        loaded = nearest if sources_of(definition, nearest) != needed else None
    given += [(f"--{kind}", named) for kind, named in sources_given(store) or sources_of(definition, loaded)]
    recorded = [_from_here(definition.flow_file)] if definition.flow_file else []
    given += [("--flows", path) for path in store.flows or recorded]
    code = [_from_here(worker.code) for worker in definition.workers if worker.code]
    given += [("--agent", path) for path in store.agent or code]
    known = () if loaded is None else [loaded.located(each) for each in loaded.manifest.hooks]
    given += [("--hooks", name) for name in store.hooks if name not in known]
    if definition.hooks and not store.hooks and not known:
        given.append(("--hooks", "FILE"))  # the log names the hooks, and not where they are
    project = store.project or (_from_here(str(loaded.path)) if loaded is not None else None)
    given += [("--project", project)] if project is not None else []
    return [word for named in given for word in named]


def _nearest() -> Project | None:
    """Return the project of the working directory, if there is one that can be used."""
    from leadhand.app.project.config_files import find_manifest
    from leadhand.app.project.manifest import load_project

    try:
        return None if (found := find_manifest(Path.cwd())) is None else load_project(found)
    except LeadhandError:
        return None


def tools_of(definition: RunDefinition) -> list[str]:
    """Return the values of ``--tools`` that a run needs to find its tools again, as far as its log shows.

    A file below the working directory is named relative to it, and FILE stands for one that is not known: its tools
    are those of a notebook or of a program elsewhere.
    """
    own = [each for each in definition.tools if each.origin and not each.origin.startswith("leadhand.")]
    paths = [each.import_path for each in own if not _is_source(each.origin)]
    offered = {each.value: f"{INSTALLED}{each.name}" for each in entry_points(GROUP)} if paths else {}
    modules = (each.rpartition(":")[0] for each in paths if each not in offered)
    named = (_from_here(each) if _found(each) else "FILE" for each in modules)
    return list(dict.fromkeys([*(offered[each] for each in paths if each in offered), *named]))


def sources_of(definition: RunDefinition, project: Any) -> list[tuple[str, str]]:
    """Return the sources of tools that a run needs besides those of the project, whose places its log does not show."""
    known = () if project is None else map(origin_of, project.sources())
    needed = dict.fromkeys(tool.origin for tool in definition.tools if _is_source(tool.origin))
    kinds = [origin.partition(":")[0] for origin in needed if origin not in known]
    return [(kind, "SERVER" if kind == "mcp" else "DOCUMENT") for kind in kinds]


def _is_source(origin: str) -> bool:
    return origin.partition(":")[0] in KINDS


def _found(module: str) -> bool:
    """Whether this process can import a module, or load a file, from the working directory."""
    if module.endswith(".py"):
        return Path(module).is_file()
    top = module.partition(".")[0]
    if top in sys.modules or Path(top).is_dir() or Path(f"{top}.py").is_file():
        return top != "__main__"
    return find_spec(top) is not None


def _from_here(module: str) -> str:
    path = Path(module)
    below = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if below else module


def spending(state: RunState) -> str:
    """Return what the run has spent so far."""
    cost = None if state.unpriced else usd(state.spent.nanousd)
    tokens = state.input_tokens + state.output_tokens
    return spent(state.spent.requests, tokens, cost, state.cached_tokens, state.cache_write_tokens)


def lasted(state: RunState) -> str:
    """Return the time from the start of a run to its end, or until its latest event."""
    return duration(duration_s(state, state.last_at or state.created_at))


def say_table(rows: Iterable[tuple[str, str]]) -> None:
    """Write words and their values to stderr, aligned."""
    for word, text in rows:
        say(f"{word:<8} {one_line(text)}")


def status_words(listing: RunListing) -> str:
    """Return the status of a run, and whether its process died."""
    return f"{listing.status.value}, orphaned" if listing.orphan else listing.status.value


def write_table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Write aligned columns to stdout; on a terminal, the last one is cut at its edge, and on a narrow one, columns
    before it are left out, from the right.
    """
    every = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)][:-1]
    columns = width() - 1 if out_is_terminal() else 1_000  # a line that fills the last column wraps on some terminals
    while len(widths) > 1 and columns - sum(widths) - 2 * len(widths) < LEAST_LAST:
        widths.pop()
    for *cells, last in every:
        aligned = [f"{cell:<{wide}}  " for cell, wide in zip(cells, widths, strict=False)]
        write_line("".join(aligned) + shortened(last, max(1, columns - sum(map(len, aligned)))))
