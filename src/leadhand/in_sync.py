"""The methods of a Leadhand for code without an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from leadhand.app.export.answers import Wanted
from leadhand.app.project.flows import DEFAULT, REPORT, RESEARCH, FlowName, listed
from leadhand.app.runtime.blocking import Driven, T, answer_of
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.errors import UsageError
from leadhand.core.limits import Limits
from leadhand.flows.seam.function import Worker
from leadhand.flows.seam.results import Result
from leadhand.mapping import Mapped
from leadhand.runs import Answer, Answering, Run, ValueT

if TYPE_CHECKING:
    from leadhand.flows.report.agents import BoundAgent


class InSync(Answering):
    """What :class:`~leadhand.Leadhand` offers code without an event loop, and notebooks; and maps."""

    agents: Mapping[str, BoundAgent]
    stages: list[dict[str, Any]]
    """The stages of reports that this process adds or changes, by their settings."""
    _runtime: Runtime | None

    async def start(self, request: str, **given: Any) -> Run[Any]:
        raise NotImplementedError

    async def resume(self, run_id: str, *, limits: Limits | None = None, deps: Any = None) -> Run[Any]:
        raise NotImplementedError

    async def follow_up(self, run_id: str, request: str, **options: Any) -> Run[Any]:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError

    async def _mapped(self, worker: Worker | str, items: Any, given: dict[str, Any]) -> Mapped:
        raise NotImplementedError

    async def run(self, request: str, *, output: Wanted[ValueT] = None, **options: Any) -> Answer[ValueT]:
        raise NotImplementedError

    async def report(
        self,
        topic: str,
        *,
        max_revisions: int = 1,
        review: bool = True,
        agents: Iterable[str | Mapping[str, Any]] | None = None,
        output: Wanted[ValueT] = None,
        **options: Any,
    ) -> Answer[ValueT]:
        """Write a report on a topic and return it: plan, research in parallel, write with citations, review, revise.

        ``agents`` changes, adds and switches off stages, each by its name or as an object of settings:
        ``["fact-checker", {"name": "writer", "model": "…"}]``. By default, every stage among the workers of this
        Leadhand takes part, with the settings of the project.
        ``options`` are further options of the flow ``report``. Raises as :meth:`start` does.
        """
        given: dict[str, Any] = {"max_revisions": max_revisions, "review": review, **options}
        stages = self.stages if agents is None else list(agents)
        return await self.run(topic, flow=REPORT, output=output, agents=stages, **given)

    async def research(
        self, question: str, *, max_turns: int = 60, output: Wanted[ValueT] = None, **options: Any
    ) -> Answer[ValueT]:
        """Answer a question by research: a lead plans, has subagents search in parallel, and answers with citations.

        ``max_turns`` limits the turns of the lead; ``options`` are further options of the flow ``research``. Raises as
        :meth:`start` does.
        """
        return await self.run(question, flow=RESEARCH, max_turns=max_turns, output=output, **options)

    async def map(self, worker: Worker | str, items: Any, **given: Any) -> AsyncIterator[Result]:
        """Have a worker carry out each of the ``items`` in one run, and yield the results in the order of the items.

        An item is text, an object as JSON or a pydantic model. The result of a failed one is not ``ok`` and has a
        ``failure``. ``given`` are further arguments of :meth:`~leadhand.Leadhand.start`, such as ``limits``; the
        results are judged only with ``check="judge"``. Raises as that method does.
        """
        mapped = await self._mapped(worker, await listed(items), given)
        async for each in mapped.results():
            yield each

    def map_sync(self, worker: Worker | str, items: Iterable[Any], **given: Any) -> list[Result]:
        """Call :meth:`map` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        return self._sync(self._mapped(worker, items, given))

    def run_sync(
        self, request: str, *, flow: FlowName | str = DEFAULT, output: Wanted[ValueT] = None, **options: Any
    ) -> Answer[ValueT]:
        """Call :meth:`run` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        return self._sync(self.start(request, flow=flow, output=output, **options))

    def report_sync(self, topic: str, *, output: Wanted[ValueT] = None, **options: Any) -> Answer[ValueT]:
        """Call :meth:`report` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        given: dict[str, Any] = {"agents": self.stages, **options}
        return self._sync(self.start(topic, flow=REPORT, output=output, **given))

    def follow_up_sync(self, run_id: str, request: str, **options: Any) -> Answer:
        """Call :meth:`follow_up` and return the answer, from code without an event loop. Ctrl-C pauses the run."""
        return self._sync(self.follow_up(run_id, request, **options))

    def research_sync(self, question: str, *, output: Wanted[ValueT] = None, **options: Any) -> Answer[ValueT]:
        """Call :meth:`research` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        return self._sync(self.start(question, flow=RESEARCH, output=output, **options))

    def resume_sync(self, run_id: str, *, limits: Limits | None = None, deps: Any = None) -> Answer:
        """Resume a run and return its answer, from code without an event loop. Ctrl-C pauses the run."""
        return self._sync(self.resume(run_id, limits=limits, deps=deps))

    def _sync(self, starting: Coroutine[Any, Any, Driven[T]]) -> T:
        """Drive a run to its rest. On KeyboardInterrupt it is paused, and the error says how to resume it."""
        if self._runtime is not None:
            starting.close()
            how = "Await run() there, or use another Leadhand for run_sync()."
            raise UsageError("this Leadhand is open in a running loop", how)
        return answer_of(starting, self.aclose)
