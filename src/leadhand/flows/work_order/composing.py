"""Compose the answer: in one call if the results fit, else in sections under one opening.

::

    results ─▶ compose-0-0 … compose-0-n   sections, in parallel; the answer contains them unchanged
                    └─▶ compose-whole   the opening: what was asked, in short, and what is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leadhand.core.errors import Failure
from leadhand.core.outcome import failure_gap, source_numbers, sources_of
from leadhand.flows.context_budget import context_budget, grouped, is_too_large, tokens
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import FlowAnswer, Result

from . import briefs
from .roles import COMPOSER, RoleName, instructions, with_role
from .work import Work

SECTION = 25
"""Results per section."""


async def compose(run: FlowContext, work: Work) -> FlowAnswer:
    """Return the answer. If there is nothing to compose, it is empty; if it could not be written, that is a gap of an
    answer that is a list of the results."""
    uses, gaps = work.usable(), work.gaps()
    text, failure = await _written(run, work, uses) if uses else ("", None)
    if failure is not None:
        reason = f"it could not be written, so the results are listed: {failure.message}"
        gaps.append(failure_gap("the answer", failure, reason))
    return FlowAnswer(text, uses=uses, gaps=gaps, failure=failure, writer=RoleName.COMPOSE)


async def _written(run: FlowContext, work: Work, uses: Sequence[Result]) -> tuple[str, Failure | None]:
    """Return the text of the answer, or why it could not be written."""
    state = run.state
    name = f"compose{len(work.orders)}" if len(work.orders) > 1 else "compose"
    numbers = source_numbers(sources_of(each.state for each in uses))
    gaps: list[Any] = [[each.name, each.reason] for each in work.gaps()]
    gaps += [
        [key, each.failure and each.failure.message] for key, each in work.results.items() if not work.may_be_used(key)
    ]

    def write(part: str, key: str, given: Any, results: Sequence[Result], texts: Sequence[str] = ()) -> Pending[Result]:
        details = Details(
            title=f"Write the answer · part {given['part']}" if part == "section" else "Write the answer",
            instructions=with_role(state, RoleName.COMPOSE, instructions("section")) if part else None,
            shows=lambda now, _: briefs.compose(now, work, results, numbers, part, texts),
        )
        final = part != "section"
        return run.step(COMPOSER, key=name + key, input=given, details=details, final=final, optional=True)

    shown = [[briefs.result(each, numbers), *(source.url for source in each.sources)] for each in uses]
    sizes = [*zip(uses, map(tokens, shown), strict=True)]
    room = max(context_budget(state, RoleName.COMPOSE) - tokens(run.request), 1)
    is_short = sum(tokens(each.text) for each in uses) <= 2 * work.definition.limits.max_output_tokens
    if is_short and tokens([shown, gaps]) <= room:
        whole = await write("", "", {"results": uses, "gaps": gaps}, uses)
        if whole.ok or not is_too_large(whole.failure):
            return whole.text, whole.failure
    groups = grouped(sizes, room, SECTION)
    sections: list[Pending[Result]] = []
    for n, each in enumerate(groups):
        cited = [numbers[source.title, source.url] for result in each for source in result.sources]
        given = {"results": each, "part": n + 1, "of": len(groups), "numbers": cited}
        sections.append(write("section", f"-0-{n}", given, each))
    said: list[Result] = await run.gather(sections)
    listed = ["\n".join(_line(each, numbers) for each in group) for group in groups]
    texts = [each.text if each.ok else line for each, line in zip(said, listed, strict=True)]
    opening = await write("opening", "-whole", {"over": said, "gaps": gaps}, (), texts)
    return ("\n\n".join([opening.text, *texts]) if opening.ok else ""), opening.failure


def _line(result: Result, numbers: briefs.Numbers) -> str:
    """Return a result as an item of a list."""
    return f"- {result.text}" + "".join(f" [{numbers[source.title, source.url]}]" for source in result.sources)
