"""The Python API: ``Leadhand`` starts runs, attaches to them and answers their approvals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from leadhand.app import arguments
from leadhand.app.export.answers import Wanted
from leadhand.app.project.flows import DEFAULT, MAP, FlowName, FlowRegistry, led
from leadhand.app.project.source_files import check_not_being_read, stages, workers_and_agents
from leadhand.app.project.toolsets import toolbox
from leadhand.app.run_settings import (
    NewRun,
    Output,
    RunTool,
    answer_worker,
    asked_settings,
    check_options,
)
from leadhand.app.runtime.opening import open_runtime
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import Settings, settings, user
from leadhand.app.steering import approvals, operator, questions
from leadhand.app.steering.approvals import OpenApproval
from leadhand.core.limits import Limits
from leadhand.core.run import WorkerCalls
from leadhand.core.state import RunState
from leadhand.core.text import check_names
from leadhand.core.value import Json
from leadhand.core.work_result import Check
from leadhand.flows.seam.function import FunctionFlow, Worker
from leadhand.in_sync import InSync
from leadhand.mapping import Mapped
from leadhand.ports import ContextStore, Models
from leadhand.ports.hooks import Hook
from leadhand.ports.runs import RunFilter, RunListing
from leadhand.runs import Answer, OnApproval, Run, ValueT
from leadhand.tools.source import ToolSource
from leadhand.tools.tool import Tool
from leadhand.verify.judge import Verifier

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project
    from leadhand.flows.report.agents import Agent

EXAMPLE = 'lead.run("What is the weather in Paris?")'


class Leadhand(InSync):
    """Runs requests with a set of tools, models and limits.

    ``model`` names the model of every worker (``offline``, ``ollama:llama3.1``, ``openai:gpt-…``), or models by use:
    ``{"default": …, "lead": …, "worker": …, "review": …}``; not given, the environment decides. ``offline`` is the
    built-in model with sample data. ``base_url`` and ``api_key`` are those of its provider. ``models`` is a port of
    your own, such as ``leadhand.testing.scripted_model.ScriptedModel``, or adapters by name: ``models={"mine":
    adapter}, model="mine"``.

    ``tools`` are functions, plain or decorated with ``@tool``; by default the built-in ones. ``flows`` are flows of
    your own (see ``leadhand.flows``), ``workers`` those that every run has, and stages of your own for reports (see
    ``leadhand.report``). ``hooks`` check calls and answers.

    ``store`` is a file, a ``postgresql://…`` URL, or a context store of your own, and ``home`` the directory with the
    files of runs and, without ``store``, their database. ``limits`` are those of each run: a budget of $1 and half an
    hour, unless you set others.

    ``check`` says how answers are checked: by a ``judge`` (the review model, else the lead's) and the exact checks, by
    the exact checks alone (``exact``), or not at all (``off``); ``verifier`` judges in place of a model.

    ``approve`` is the policy for calls that need approval: ``ask`` a person, make them (``auto``) or deny them
    (``never``); or rules, of which the first that matches counts: ``{"tool:send_*": "auto", "effect:once": "never",
    "origin:shop.*": "ask", "*": "ask"}``, where ``*`` is for all other calls.
    ``on_approval`` answers approvals while runs are driven here: it is called with each open approval, and returns True
    (approve), False (deny) or None (leave it to people); of an interrupted call (kind ``effect``), whether it happened.

    What one run has beside this, :meth:`start` takes; what a project has, its ``leadhand.toml`` (see
    :meth:`of_project`). Use it as ``async with Leadhand(…) as lead``, or call :meth:`run_sync`, which needs no loop."""

    def __init__(
        self,
        model: str | Mapping[str, str] | None = None,
        *,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
        flows: Iterable[FunctionFlow] = (),
        workers: Iterable[Worker | Agent | type[Agent]] = (),
        hooks: Iterable[Hook | type[Hook]] = (),
        models: Models | Mapping[str, Models] | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        store: ContextStore | Path | str | None = None,
        home: Path | str | None = None,
        limits: Limits | None = None,
        check: Check | None = None,
        verifier: Verifier | None = None,
        approve: arguments.Policy | Mapping[str, arguments.Policy] | None = None,
        on_approval: OnApproval | None = None,
    ) -> None:
        chosen: Any = {"model": model, "base_url": base_url, "api_key": api_key, "check": check, "approve": approve}
        chosen |= {"limits": limits, "home": home, "store": store}
        parts: Any = {"tools": tools, "flows": flows, "workers": workers, "hooks": hooks, "models": models}
        self._choose(**chosen, **parts, verifier=verifier, on_approval=on_approval)

    def _choose(
        self,
        *,
        project: Project | None = None,
        store: ContextStore | Path | str | None = None,
        model: str | Mapping[str, str] | None = None,
        home: Path | str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        check: Check | None = None,
        approve: Any = None,
        **parts: Any,
    ) -> None:
        place, own = (store, None) if store is None or isinstance(store, str | Path) else (None, store)
        of_project: Any = {} if project is None else project.settings()
        server: Any = {"base_url": base_url, "api_key": api_key}
        chosen: Any = {"model": model, "limits": limits, "check": check, "approve": approve}
        self._set_up(settings(home=home, database=place, **server, **chosen, **of_project), store=own, **parts)

    def _set_up(
        self,
        settings: Settings,
        *,
        tools: Iterable[Any] | None = None,
        sources: Iterable[ToolSource] = (),
        flows: Iterable[FunctionFlow] = (),
        workers: Iterable[Any] = (),
        hooks: Iterable[Any] = (),
        models: Models | Mapping[str, Models] | None = None,
        store: ContextStore | None = None,
        verifier: Verifier | None = None,
        on_approval: OnApproval | None = None,
    ) -> None:
        self._settings = settings
        self._adapters: dict[str, Models] = {}
        """The adapters of single runs, by the names in their logs: a run can be resumed here later."""
        arguments.check_parts(flows=flows, models=models, store=store, verifier=verifier, on_approval=on_approval)
        self._on_approval = on_approval
        project = settings.project
        of_runs, self.agents = workers_and_agents(workers)
        self.stages = stages({} if project is None else project.manifest.stages, self.agents)
        self._flows = FlowRegistry(flows, self.agents, {} if project is None else project.rules(), of_runs)
        own = None if project is None else project.manifest.tool_settings
        self._toolbox = toolbox(tools, own, settings.environment)
        for source in (*sources, *(() if project is None else project.sources())):
            self._toolbox.add(source)
        for tool in self._flows.tools_of_workers():
            self._toolbox.offer(tool)
        self._open = partial(
            open_runtime,
            self._settings,
            self._toolbox,
            models=models,
            store=store,
            flows=self._flows,
            added=self._adapters,
            hooks=arguments.hooks(hooks),
            verifier=verifier,
        )
        self._runtime = None

    @classmethod
    def of_project(cls, path: Path | str = ".", **given: Any) -> Self:
        """Return a Leadhand with everything that a manifest sets; the arguments ``given`` replace what it says.

        ``path`` is a ``leadhand.toml``, or a directory: the nearest manifest there or above it is used. Raises
        UsageError for a missing one, ConfigurationError, with file and line, for one that cannot be used.
        """
        from leadhand.app.project.config_files import find_manifest
        from leadhand.app.project.manifest import load_project  # most processes have no project

        named = Path(path)
        project = load_project((find_manifest(named) if named.is_dir() else None) or named)
        check_names("Leadhand", given, inspect.signature(cls).parameters)
        lead = cls.__new__(cls)
        lead._choose(project=project, **project.arguments(given))
        return lead

    @property
    def settings(self) -> Settings:
        return self._settings

    async def runtime(self, *, reading: bool = False) -> Runtime:
        """The opened parts of this process; opened on first use, also in a home that is read-only if ``reading``."""
        check_not_being_read()
        if self._runtime is None:
            self._runtime = await self._open(reading=reading)
        return self._runtime

    async def __aenter__(self) -> Self:
        await self.runtime()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop what this process drives and close the store; unfinished runs can be attached to or resumed later."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.aclose()

    def _run(
        self, runtime: Runtime, state: RunState, *, drive: bool = True, output: Output = None, deps: Any = None
    ) -> Run[Any]:
        output = output or runtime.output_of(state.run_id) or self._flows.output_of(state.definition)
        return Run(runtime, state, drive=drive, on_approval=self._on_approval, output=output, deps=deps)

    async def start(
        self,
        request: str,
        *,
        flow: FlowName | str = DEFAULT,
        worker: Worker | str | None = None,
        output: Wanted[ValueT] = None,
        name: str = "",
        tags: Mapping[str, str] | None = None,
        instructions: str | Mapping[str, str] | None = None,
        model: str | Mapping[str, str] | Models | None = None,
        limits: Limits | None = None,
        check: Check | None = None,
        strict: bool | None = None,
        worker_calls: WorkerCalls | None = None,
        approve: arguments.Policy | Mapping[str, arguments.Policy] | None = None,
        tools: Iterable[RunTool] | None = None,
        documents: Path | str | None = None,
        only_documents: bool | None = None,
        plan_only: bool = False,
        approve_plan: bool = False,
        deps: Any = None,
        messages: Iterable[Mapping[str, str]] = (),
        **options: Any,
    ) -> Run[ValueT]:
        """Start a run and return at once; the run continues in the background of this event loop.

        ``options`` are those of the ``flow``, ``output`` is the type of ``answer.value``: a pydantic model or a JSON
        schema. A ``worker``, or one of the project by name, carries the request out by itself. Lists show ``name`` in
        place of the request; ``tags`` are texts by key, to find the run by. ``messages`` are those of the conversation
        that led to the request, the oldest first: ``[{"role": "user", "content": "…"}, {"role": "assistant", "content":
        "…"}]``.

        What this run has in place of what the Leadhand has: a ``model`` for all workers, by name, by use or as an
        adapter; those ``limits`` that are set; ``check``; and ``approve``. ``instructions`` are added to those of every
        worker, or of workers by name. ``tools`` are the only ones that it may use of those registered here, by name or
        as they are. The log records them, so that a resumed run has the same.

        With ``strict``, doubts about the answer make the run partial. With ``worker_calls="always"``, a model writes
        the result of every subtask. ``documents`` is a directory that ``web_search`` and ``web_fetch`` read, too; with
        ``only_documents``, ``web_search`` reads nothing else and there is no ``web_fetch``, so that no query leaves the
        machine.

        ``deps`` are what the tools and workers of this run find in ``context.deps``, such as the session of a user. No
        log has them, so this process alone carries the run out, and one that continues it gives it others:
        ``lead.resume(run_id, deps=…)``.

        ``plan_only`` ends with the plan, in ``answer.plan``: the run waits, and :meth:`resume` or :meth:`approve`
        carries the plan out. With ``approve_plan``, a person has to approve the plan before any work begins.

        Raises UsageError for an invalid argument, ConfigurationError for a model, home or database that cannot be used.
        """
        shape, inputs = cast("Output", output), options.pop("inputs", None) if worker is not None else None
        request, flow, options, own_worker = led(request, flow, options, worker=worker, inputs=inputs)
        checked = arguments.check_request(request, example=EXAMPLE)
        check_options(self._flows, flow, options, elsewhere=inspect.signature(Leadhand).parameters)
        _ = answer_worker(shape, ())
        asked_for: Any = {"name": name, "tags": tags, "instructions": instructions}
        asked_for |= {"tools": tools, "plan_only": plan_only, "approve_plan": approve_plan}
        own = NewRun(**asked_for, output=shape, worker=own_worker, deps=deps, messages=messages)
        found: Any = {"model": model, "limits": limits, "check": check, "strict": strict, "approve": approve}
        found |= {"worker_calls": worker_calls, "documents": documents, "only_documents": only_documents}
        asked, adapter = asked_settings(self._settings, **found)
        if own_worker is not None:
            self._flows.keep(own_worker)
            for tool in self._flows.tools_of_workers(own_worker):
                self._toolbox.offer(tool)
        runtime = await self.runtime()
        state = await runtime.start(checked, flow=flow, options=options, asked=asked, run=own, model=adapter)
        return self._run(runtime, state, output=shape, deps=deps)

    async def run(
        self, request: str, *, flow: FlowName | str = DEFAULT, output: Wanted[ValueT] = None, **options: Any
    ) -> Answer[ValueT]:
        """Run a request and return its answer. Raises as :meth:`start` does; a failed run also returns an answer."""
        return await (await self.start(request, flow=flow, output=output, **options)).answer()

    async def _mapped(self, worker: Worker | str, items: Any, given: dict[str, Any]) -> Mapped:
        settings: dict[str, Any] = {"check": "off", **given}
        run = await self.start("", flow=MAP, worker=worker, inputs=items, **settings)
        log = (await self.runtime()).log(run.run_id)
        return Mapped(run, self._flows.output_of(run.state.definition), log.unpack)

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        """Return the runs in the database, newest first, which meet every filter: at most ``limit``, after ``before``.

        See :class:`~leadhand.ports.runs.RunFilter` for the filters and orders. Raises NoSuchRun and UsageError.
        """
        arguments.check_filters(limit, filters)
        return await (await self.runtime(reading=True)).store.runs(limit=limit, before=before, **filters)

    async def get(self, run_id: str, *, deps: Any = None) -> Run:
        """Return a run to look at; it is not taken over, even if no process drives it. Raises NoSuchRun.

        See :meth:`attach` to continue a run whose process died. ``deps`` are for what you have it do, such as a retry.
        """
        runtime = await self.runtime(reading=True)
        return self._run(runtime, await runtime.load(arguments.run_id(run_id)), drive=False, deps=deps)

    async def attach(self, run_id: str, *, deps: Any = None) -> Run:
        """Return a run: follow it while another process drives it, or resume it if its process died.

        A paused run stays paused; see :meth:`resume`. ``deps`` are those of a run that was started with its own.
        Raises NoSuchRun.
        """
        runtime, run_id = await self.runtime(), arguments.run_id(run_id)
        if (await runtime.store.run(run_id)).orphan:
            with runtime.lending(run_id, deps):
                state = await runtime.take_over(run_id)
            return self._run(runtime, state, deps=deps)
        return self._run(runtime, await runtime.load(run_id), drive=False, deps=deps)

    async def resume(self, run_id: str, *, limits: Limits | None = None, deps: Any = None) -> Run:
        """Resume a run that is paused, waiting or orphaned, with other ``limits`` where some are set.

        Each of them is for the run as a whole, and ``max_turns`` for the lead of a research run. With other limits, a
        finished run is reopened: what failed is retried, a lead that a limit stopped continues where it stopped, and
        the answer is written again. ``deps`` are those of a run that was started with its own. Raises NoSuchRun,
        RunOwned while another process drives it, and UsageError if it has ended.
        """
        runtime, run_id = await self.runtime(), arguments.run_id(run_id)
        with runtime.lending(run_id, deps):
            state = await operator.resume(runtime, run_id, arguments.limits(limits), by=user())
        return self._run(runtime, state, deps=deps)

    async def follow_up(self, run_id: str, request: str, **options: Any) -> Run:
        """Start a run that follows up an earlier one. See :meth:`Run.follow_up`, which has the same ``options``."""
        return await (await self.get(run_id)).follow_up(request, **options)

    async def fork(
        self, run_id: str, at: int, *, limits: Limits | None = None, confirmed: bool = False, deps: Any = None
    ) -> Run:
        """Fork a run: a new run copies its events up to event ``at`` and continues independently in this process.

        The first run does not change. Raises NoSuchRun, and UsageError for an event from which a run cannot continue,
        and, unless ``confirmed``, after irreversible calls that the fork may repeat. See :meth:`resume` for ``limits``.
        """
        runtime, run_id, given = await self.runtime(), arguments.run_id(run_id), arguments.limits(limits)
        with runtime.lending(run_id, deps):
            state = await operator.fork(runtime, run_id, at, given, confirmed=confirmed)
        return self._run(runtime, state, deps=deps)

    async def reply(self, run_id: str, text: str) -> Run:
        """Answer the oldest open question of a run, which then continues here unless another process drives it.

        Raises NoSuchRun, and UsageError for an empty answer or without a question."""
        runtime, run_id = await self.runtime(), arguments.run_id(run_id)
        _ = await questions.reply(runtime, run_id, text, by=user())
        runtime.answered.add(run_id)
        return self._run(runtime, await runtime.load(run_id), drive=False)

    async def signal(self, run_id: str, name: str, value: Json = None) -> None:
        """Send a signal to a run, as :meth:`Run.signal` does. Raises NoSuchRun, and UsageError if it has ended."""
        runtime, run_id = await self.runtime(), arguments.run_id(run_id)
        await questions.signal(runtime, run_id, name, value, by=user())
        runtime.answered.add(run_id)

    async def approvals(self) -> list[OpenApproval]:
        """Return the open approvals of all runs in the database, newest first."""
        asked = await approvals.open_approvals(await self.runtime())
        return [each for each in asked if not each.expired]

    async def _question(self, question: OpenApproval | str) -> tuple[Runtime, OpenApproval]:
        runtime = await self.runtime()
        return runtime, await approvals.find_approval(runtime, question)


def leadhand_with(settings: Settings, **parts: Any) -> Leadhand:
    """Return a Leadhand with settings that are read already, those of a command; ``parts`` are arguments of it."""
    lead = Leadhand.__new__(Leadhand)
    lead._set_up(settings, **parts)  # pyright: ignore[reportPrivateUsage]
    return lead
