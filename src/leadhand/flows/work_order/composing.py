"""Compose the answer: in one call if the results fit, else as a tree of sections under one opening.

::

    results ─▶ compose-0-0 … compose-0-n   sections, in parallel; the answer contains them unchanged
                    └─▶ compose-1-0 …       digests, level by level, until they fit one call
                              └─▶ compose-whole   the opening: what was asked, in short, and what is missing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from leadhand.core.errors import Failure
from leadhand.core.outcome import failure_gap, source_numbers, sources_of
from leadhand.core.run import Gap
from leadhand.core.state import RunState
from leadhand.flows.context_budget import context_budget, grouped, is_too_large, tokens
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Result

from . import briefs
from .roles import RoleName, instructions, role, with_role
from .work import Work

TITLE = "Write the answer"
SECTION = 25
"""Results per section."""


async def compose(run: FlowContext, work: Work) -> tuple[str, Failure | None, Sequence[Gap]]:
    """Return the answer; "" if there is nothing to compose, or if it could not be written, with the failure, and the
    gap of an answer that is a list of the results."""
    if not work.usable():
        return "", None, ()
    text, failure = await _Composing(run, work).answer()
    if failure is None or text:
        return text, None, ()
    reason = f"it could not be written, so the results are listed: {failure.message}"
    return "", failure, [failure_gap("the answer", failure, reason)]


class _Text(NamedTuple):
    """A part of a long answer: its text, which the result of its step has unless that failed."""

    result: Result
    text: str


class _Composing:
    def __init__(self, run: FlowContext, work: Work) -> None:
        self.run, self.work, self.results = run, work, work.usable()
        self.name = f"compose{len(work.orders)}" if len(work.orders) > 1 else "compose"
        self.numbers = source_numbers(sources_of(each.state for each in self.results))
        self.room = max(context_budget(run.state, RoleName.COMPOSE) - tokens(run.request), 1)

    async def answer(self) -> tuple[str, Failure | None]:
        length = sum(tokens(each.text) for each in self.results)
        limits = self.work.definition.limits
        facts = [[briefs.result(each, self.numbers) for each in self.results], [*self.numbers], self._gaps()]
        if length <= 2 * limits.max_output_tokens and tokens(facts) <= self.room:
            given = {"results": self.results, "gaps": self._gaps()}
            shows = partial(briefs.compose, work=self.work, numbers=self.numbers)
            whole = await self._step("", TITLE, given, shows, final=True)
            if whole.ok or not is_too_large(whole.failure):
                return whole.text, whole.failure
        sections = await self._sections()
        opening = await self._over("-whole", await self._shortened(sections), final=True)
        texts = [opening.text, *(each.text for each in sections)]
        return ("\n\n".join(texts) if opening.ok else ""), opening.failure

    def _gaps(self) -> list[Any]:
        return [*self.work.open_parts(), *((each.name, each.reason) for each in self.work.gaps())]

    def _step(
        self, name: str, title: str, given: Any, shows: Callable[[RunState], dict[str, Any]], *, final: bool = False
    ) -> Pending[Result]:
        state = self.run.state
        own = None if name == "" else with_role(state, RoleName.COMPOSE, instructions("section"))
        details = Details(title=title, instructions=own, shows=lambda now, _: shows(now))
        worker, key = role(RoleName.COMPOSE), self.name + name
        return self.run.step(worker, key=key, input=given, details=details, final=final, optional=True)

    async def _sections(self) -> list[_Text]:
        """Return the sections: of one that could not be written, the results unchanged, one per line."""
        sizes = [
            (each, tokens(briefs.result(each, self.numbers)) + sum(tokens(source.url) for source in each.sources))
            for each in self.results
        ]
        groups = grouped(sizes, self.room, SECTION)
        return await self.run.gather(self._section(n, each, len(groups)) for n, each in enumerate(groups))

    async def _section(self, number: int, results: Sequence[Result], of: int) -> _Text:
        own = source_numbers(sources_of(each.state for each in results))
        numbers = {source: self.numbers[source] for source in own}
        given = {"results": results, "part": number + 1, "of": of, "numbers": [*numbers.values()]}
        title = f"{TITLE} · part {number + 1}"
        said = await self._step(f"-0-{number}", title, given, lambda now: briefs.section(now, results, numbers))
        return _Text(said, said.text if said.ok else self._lines(results))

    def _lines(self, results: Sequence[Result]) -> str:
        lines: list[str] = []
        for each in results:
            cited = "".join(f" [{self.numbers[source.title, source.url]}]" for source in each.sources)
            lines.append(f"- {each.text}{cited}")
        return "\n".join(lines)

    async def _shortened(self, texts: Sequence[_Text]) -> Sequence[_Text]:
        """Return texts, shortened level by level until they fit into one call, or cannot be divided further."""
        for level in count(1):
            groups = grouped([(each, tokens(each.text)) for each in texts], self.room)
            if len(groups) in (1, len(texts)):
                break
            texts = await self.run.gather(self._digest(f"-{level}-{n}", n, each) for n, each in enumerate(groups))
        return texts

    async def _digest(self, name: str, number: int, texts: Sequence[_Text]) -> _Text:
        said = await self._over(name, texts, part=number + 1)
        return _Text(said, said.text if said.ok else "\n\n".join(each.text for each in texts))

    def _over(self, name: str, texts: Sequence[_Text], *, part: int = 0, final: bool = False) -> Pending[Result]:
        given = {"over": [each.result for each in texts], **({"gaps": self._gaps()} if final else {"part": part})}
        shown = [each.text for each in texts]
        title = TITLE if final else f"{TITLE} · part {part}"
        return self._step(
            name, title, given, lambda now: briefs.compose_over(now, self.work, shown, digest=not final), final=final
        )
