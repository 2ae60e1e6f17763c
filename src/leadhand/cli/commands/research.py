"""``leadhand research``: answer a question by research and print the answer."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.flows import RESEARCH
from leadhand.cli.commands.run import Job, start_run
from leadhand.cli.flag_values import flow_options
from leadhand.cli.options import DriverFlags, Flag, LimitFlags, ModelFlags, Options, Output

EXAMPLE = 'leadhand research "How do heat pumps perform in old houses?"'


async def research(
    question: Annotated[str | None, Flag("What you want to know. If it is missing or -, stdin is read.")] = None,
    /,
    *,
    max_turns: Annotated[int | None, Flag("Turns of the lead, at most (default: 60).", "N")] = None,
    max_revisions: Annotated[int | None, Flag("How often an answer is revised at most (default: 1).", "N")] = None,
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
    given = {"max_turns": max_turns, "max_revisions": max_revisions}
    options |= {name: value for name, value in given.items() if value is not None}
    return await start_run(question, RESEARCH, lambda _: options, job, models, limits, output, store, example=EXAMPLE)
