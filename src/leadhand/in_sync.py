"""The methods of a Leadhand for code without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from leadhand.app.answers import Wanted
from leadhand.app.blocking import Driven, T, answer_of
from leadhand.app.flows import DEFAULT, REPORT, RESEARCH, FlowName
from leadhand.app.new_limits import NewLimits
from leadhand.app.runtime import Runtime
from leadhand.core.errors import UsageError
from leadhand.mapping import MapsInputs
from leadhand.runs import Answer, Run, ValueT

if TYPE_CHECKING:
    from leadhand.flows.report.agents import BoundAgent


class InSync(MapsInputs):
    """What :class:`~leadhand.Leadhand` offers code without an event loop, and notebooks."""

    agents: Mapping[str, BoundAgent]
    _runtime: Runtime | None

    async def start(self, request: str, **given: Any) -> Run[Any]:
        raise NotImplementedError

    async def resume(self, run_id: str, **limits: Unpack[NewLimits]) -> Run[Any]:
        raise NotImplementedError

    async def follow_up(self, run_id: str, request: str, **options: Any) -> Run[Any]:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError

    def run_sync(
        self, request: str, *, flow: FlowName | str = DEFAULT, output: Wanted[ValueT] = None, **options: Any
    ) -> Answer[ValueT]:
        """Call :meth:`run` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        return self._sync(self.start(request, flow=flow, output=output, **options))

    def report_sync(self, topic: str, *, output: Wanted[ValueT] = None, **options: Any) -> Answer[ValueT]:
        """Call :meth:`report` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        given: dict[str, Any] = {"agents": list(self.agents), **options}
        return self._sync(self.start(topic, flow=REPORT, output=output, **given))

    def follow_up_sync(self, run_id: str, request: str, **options: Any) -> Answer:
        """Call :meth:`follow_up` and return the answer, from code without an event loop. Ctrl-C pauses the run."""
        return self._sync(self.follow_up(run_id, request, **options))

    def research_sync(self, question: str, *, output: Wanted[ValueT] = None, **options: Any) -> Answer[ValueT]:
        """Call :meth:`research` from code without an event loop, or from a notebook. Ctrl-C pauses the run."""
        return self._sync(self.start(question, flow=RESEARCH, output=output, **options))

    def resume_sync(self, run_id: str, **limits: Unpack[NewLimits]) -> Answer:
        """Resume a run and return its answer, from code without an event loop. Ctrl-C pauses the run."""
        return self._sync(self.resume(run_id, **limits))

    def _sync(self, starting: Coroutine[Any, Any, Driven[T]]) -> T:
        """Drive a run to its rest. On KeyboardInterrupt it is paused, and the error says how to resume it."""
        if self._runtime is not None:
            starting.close()
            raise UsageError(
                "this Leadhand is open in a running loop", "Await run() there, or use another Leadhand for run_sync()."
            )
        return answer_of(starting, self.aclose)
