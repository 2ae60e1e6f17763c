"""Compose the answer: in one call if the results fit, else in sections under one opening.

::

    results ─▶ compose-0-0 … compose-0-n   sections, in parallel; the answer contains them unchanged
                    └─▶ compose-whole   the opening: what was asked, in short, and what is missing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from leadhand.core.errors import Failure
from leadhand.core.outcome import failure_gap, source_numbers, sources_of
from leadhand.core.state import RunState
from leadhand.flows.context_budget import context_budget, grouped, is_too_large, tokens
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import FlowAnswer, Result

from . import briefs
from .roles import RoleName, instructions, role, with_role
from .work import Work

SECTION = 25
"""Results per section."""


async def compose(run: FlowContext, work: Work) -> FlowAnswer:
    """Return the answer. If there is nothing to compose, it is empty; if it could not be written, that is a gap of an
    answer that is a list of the results."""
    uses, gaps = work.usable(), work.gaps()
    text, failure = await _Composing(run, work).answer() if uses else ("", None)
    if failure is not None:
        reason = f"it could not be written, so the results are listed: {failure.message}"
        gaps.append(failure_gap("the answer", failure, reason))
    return FlowAnswer(text, uses=uses, gaps=gaps, failure=failure, writer=RoleName.COMPOSE)


class _Composing:
    def __init__(self, run: FlowContext, work: Work) -> None:
        self.run, self.work, self.results = run, work, work.usable()
        self.name = f"compose{len(work.orders)}" if len(work.orders) > 1 else "compose"
        self.numbers = source_numbers(sources_of(each.state for each in self.results))
        self.gaps = [*work.open_parts(), *((each.name, each.reason) for each in work.gaps())]

    async def answer(self) -> tuple[str, Failure | None]:
        room = max(context_budget(self.run.state, RoleName.COMPOSE) - tokens(self.run.request), 1)
        sizes = [(each, tokens(briefs.result(each, self.numbers))) for each in self.results]
        sizes = [(each, size + tokens([source.url for source in each.sources])) for each, size in sizes]
        length = sum(tokens(each.text) for each in self.results)
        fits = sum(size for _, size in sizes) + tokens(self.gaps) <= room
        if fits and length <= 2 * self.work.definition.limits.max_output_tokens:
            given = {"results": self.results, "gaps": self.gaps}
            shows = partial(briefs.compose, work=self.work, numbers=self.numbers)
            whole = await self._step("", "", given, shows, final=True)
            if whole.ok or not is_too_large(whole.failure):
                return whole.text, whole.failure
        groups = grouped(sizes, room, SECTION)
        sections = await self.run.gather(self._section(n, each, len(groups)) for n, each in enumerate(groups))
        texts = [text for _, text in sections]
        given = {"over": [said for said, _ in sections], "gaps": self.gaps}
        shows = partial(briefs.opening, work=self.work, texts=texts)
        opening = await self._step("-whole", "", given, shows, final=True)
        return ("\n\n".join([opening.text, *texts]) if opening.ok else ""), opening.failure

    async def _section(self, number: int, results: Sequence[Result], of: int) -> tuple[Result, str]:
        """Return the result of the step that writes a section, and its text: if that failed, the results as a list."""
        own = source_numbers(sources_of(each.state for each in results))
        numbers = {source: self.numbers[source] for source in own}
        given = {"results": results, "part": number + 1, "of": of, "numbers": [*numbers.values()]}
        shows = partial(briefs.section, results=results, numbers=numbers)
        said = await self._step(f"-0-{number}", f" · part {number + 1}", given, shows)
        return said, said.text if said.ok else "\n".join(map(self._line, results))

    def _line(self, result: Result) -> str:
        cited = "".join(f" [{self.numbers[source.title, source.url]}]" for source in result.sources)
        return f"- {result.text}{cited}"

    def _step(
        self, name: str, part: str, given: Any, shows: Callable[[RunState], dict[str, Any]], *, final: bool = False
    ) -> Pending[Result]:
        own = with_role(self.run.state, RoleName.COMPOSE, instructions("section")) if name else None
        details = Details(title=f"Write the answer{part}", instructions=own, shows=lambda now, _: shows(now))
        return self.run.step(
            role(RoleName.COMPOSE), key=self.name + name, input=given, details=details, final=final, optional=True
        )
