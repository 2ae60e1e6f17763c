"""``leadhand report`` and ``research``: write a report, or answer a question by research, and print it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from leadhand.api import Leadhand
from leadhand.app.project.flows import REPORT, RESEARCH
from leadhand.app.project.source_files import stages
from leadhand.cli.commands.run import Job, start_run
from leadhand.cli.options import DriverFlags, Flag, LimitFlags, ModelFlags, Options, Output, flow_options, json_or_text
from leadhand.core.errors import UsageError

EXAMPLE = 'leadhand report "Heat pumps in old houses"'
QUESTION = 'leadhand research "How do heat pumps perform in old houses?"'


async def report(
    topic: Annotated[str | None, Flag("What to report on. If it is missing or -, stdin is read.")] = None,
    /,
    *,
    max_revisions: Annotated[int | None, Flag("Revise a draft at most N times (default: 1).", "N")] = None,
    no_review: Annotated[bool, Flag("Leave the reviewer out. The judge still checks the claims.")] = False,
    stage: Annotated[
        tuple[str, ...],
        Flag(
            "Set a field of a stage, such as writer.model=NAME. Others: reviewer.instructions=@FILE,"
            " fact-checker.after=writer. The value is JSON, or else text; @FILE is the text of a file. Repeatable.",
            "STAGE.FIELD=VALUE",
        ),
    ] = (),
    option: Options = (),
    job: Job = Job(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Write a report on a topic.

    Leadhand plans the report, researches its questions in parallel, writes it with citations, has a model compare
    every claim with its sources, reviews it and revises it. The report goes to stdout, progress to stderr. Exit codes
    are those of run.

    Examples:
      leadhand report "Heat pumps in old houses"
      leadhand report --max-revisions 2 --stage writer.instructions=@style.md "Heat pumps in old houses"
      leadhand report --agent checks.py:FactChecker --no-review "Heat pumps in old houses"
    """
    options, settings = flow_options(option), stage_settings(stage)
    if "agents" in options:
        raise UsageError("--option agents is not for this command", "Use --agent FILE and --stage STAGE.FIELD=VALUE.")
    if max_revisions is not None:
        options["max_revisions"] = max_revisions
    if no_review:
        options["review"] = False

    def options_of(lead: Leadhand) -> dict[str, Any]:
        if job.continue_ is not None and not settings:
            return options  # the stages are those of the earlier run
        return {**options, "agents": stages(settings, lead.agents)}

    return await start_run(topic, REPORT, options_of, job, models, limits, output, store, example=EXAMPLE)


def stage_settings(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of stages from the values of ``--stage``, by stage. Raises UsageError."""
    found: dict[str, dict[str, Any]] = {}
    for each in given:
        place, equals, value = each.partition("=")
        name, dot, field = place.strip().partition(".")
        if not equals or not dot or not name or not field or field in ("name", "agent"):
            how = "Give STAGE.FIELD=VALUE: --stage writer.model=NAME. Classes are given with --agent."
            raise UsageError(f"invalid value for --stage: {each!r}", how)
        field = field.replace("-", "_")
        if field in found.setdefault(name, {}):
            raise UsageError(f"--stage names {name}.{field} twice", "Give it once.")
        found[name][field] = _value(value)
    return found


def _value(text: str) -> Any:
    if text.startswith("@"):
        try:
            return Path(text[1:]).expanduser().read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {text[1:]}: {error}", "Name a text file in UTF-8 after the @.") from error
    return json_or_text(text)


async def research(
    question: Annotated[str | None, Flag("What you want to know. If it is missing or -, stdin is read.")] = None,
    /,
    *,
    max_turns: Annotated[int | None, Flag("Turns of the lead, at most (default: 60).", "N")] = None,
    option: Options = (),
    job: Job = Job(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Answer a question by research.

    A lead plans the research and has subagents search, in parallel. It reads what they found, asks for more where
    something is missing, and answers. A model compares each claim of the answer with the passages that it cites. The
    answer goes to stdout, progress to stderr. Exit codes are those of run.

    Examples:
      leadhand research "How do heat pumps perform in old houses?"
      leadhand research --max-turns 20 --documents ~/house "What did we spend on the heating?"
    """
    options = flow_options(option)
    if max_turns is not None:
        options["max_turns"] = max_turns
    return await start_run(question, RESEARCH, lambda _: options, job, models, limits, output, store, example=QUESTION)
