"""The Python API: ``Leadhand`` starts runs, attaches to them and answers their approvals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from leadhand.app import arguments
from leadhand.app.export.answers import Wanted
from leadhand.app.new_limits import NewLimits, known_limits
from leadhand.app.project.flows import DEFAULT, MAP, FlowName, FlowRegistry, led
from leadhand.app.project.source_files import bound_agents
from leadhand.app.project.toolsets import toolbox
from leadhand.app.run_settings import (
    AS_CONFIGURED,
    NewRun,
    Output,
    RunTool,
    answer_worker,
    asked_settings,
    check_options,
)
from leadhand.app.runtime.runtime import Runtime, open_runtime
from leadhand.app.settings import Settings, settings, user
from leadhand.app.steering import approvals, operator, questions
from leadhand.app.steering.approvals import OpenApproval
from leadhand.core.limits import Limits
from leadhand.core.run import WorkerCalls
from leadhand.core.state import RunState
from leadhand.core.value import Json
from leadhand.core.work_result import Check
from leadhand.flows.seam.function import FunctionFlow, Worker
from leadhand.in_sync import InSync
from leadhand.mapping import Mapped
from leadhand.ports import ContextStore, Models
from leadhand.ports.hooks import Hook
from leadhand.ports.runs import RunFilter, RunListing
from leadhand.runs import Answer, OnApproval, Run, ValueT
from leadhand.tools.decorator import Tool
from leadhand.verify.judge import Verifier

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project
    from leadhand.flows.report.agents import Agent

EXAMPLE = 'lead.run("What is the weather in Paris?")'


class Leadhand(InSync):
    """Runs requests with a set of tools, models and limits.

    ``model`` names the model of every worker (``offline``, ``ollama:llama3.1``, ``openai:gpt-…``; not given, the
    environment decides), ``base_url`` and ``api_key`` the address and the key of its provider; ``lead_model``,
    ``worker_model`` and ``review_model`` those for single uses; ``models`` is a port of your own, such as
    ``leadhand.testing.scripted_model.ScriptedModel``, or adapters by name beside the built-in ones: ``models={"mine":
    adapter}, model="mine"``. ``flows`` are flows of your own (see ``leadhand.flows``),
    ``agents`` stages of your own for reports (see ``leadhand.report``), and ``store`` a context store of your own in
    place of the database. ``tools`` are functions, plain or decorated with ``@tool``; by default the built-in ones.
    ``budget`` is in dollars (None: no limit), ``timeout`` in seconds (None: no limit), ``attempt_timeout`` that of one
    attempt; ``model_patience`` is how long a call waits for a model server that is away, or that does not begin to
    answer. ``max_requests`` and ``max_tokens`` bound the model calls of a run and the tokens of all of them together,
    ``max_output_tokens`` those of one reply (a long plan needs more); reasoning has 8,000 more.
    ``max_workers`` bounds the steps of one run that are carried out at once, ``concurrency`` those of all runs
    together (not given: ``LEADHAND_CONCURRENCY``, else 1,000). A ``budget`` needs a known price: a model without one is
    refused, unless ``allow_unknown_price``. ``home`` and ``database`` say where runs are kept. ``documents`` is a
    directory that ``web_search`` and ``web_fetch`` read, too; with ``only_documents``, ``web_search`` reads nothing
    else and there is no ``web_fetch``, so that no query leaves the machine. ``project`` has workers that runs can use
    (see :meth:`of_project`); ``offline_rules`` say what the built-in model does by worker.

    ``approve`` is the policy for calls that need approval: ``ask`` a person, make them (``auto``) or deny them
    (``never``). ``approve_rules`` override it for some calls; the first match applies: ``{"tool:send_*": "auto",
    "toolset:mail": "ask", "effect:once": "never", "origin:shop.*": "ask"}``. ``approval_timeout`` is the number of
    seconds after which an unanswered approval is denied (None: never).
    ``on_approval`` answers approvals while runs are driven here: it is called with each open approval, and returns True
    (approve), False (deny) or None (leave it to people); of an interrupted call (kind ``effect``), whether it happened.
    ``deps`` is what your tools find in ``context.deps``, and in no log. ``hooks`` check calls and answers. ``workers``
    are those that every run has beside the project's.

    ``check`` says how answers are checked: by a ``judge`` (the review model, else the lead's) and the exact checks, by
    the exact checks alone (``exact``), or not at all (``off``); ``verifier`` judges in place of a model. With
    ``strict``, doubts make a run partial. With ``worker_calls="always"``, a model writes the result of every subtask.
    Use it as ``async with Leadhand(…) as lead``, or call :meth:`run_sync`, which needs no loop."""

    def __init__(
        self,
        model: str | None = None,
        *,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
        flows: Iterable[FunctionFlow] = (),
        workers: Iterable[Worker] = (),
        agents: Iterable[Agent | type[Agent]] = (),
        models: Models | Mapping[str, Models] | None = None,
        store: ContextStore | None = None,
        lead_model: str | None = None,
        worker_model: str | None = None,
        review_model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        offline: bool = False,
        documents: Path | str | None = None,
        only_documents: bool = False,
        project: Project | None = None,
        offline_rules: Mapping[str, Callable[..., Any]] | None = None,
        home: Path | str | None = None,
        database: str | None = None,
        max_steps: int = 3,
        max_workers: int = 32,
        concurrency: int | None = None,
        batch_size: int | None = None,
        budget: float | None = arguments.USUAL_BUDGET,
        budget_per_day: float | None = None,
        budget_total: float | None = None,
        allow_unknown_price: bool = False,
        check: Check | None = None,
        strict: bool = False,
        worker_calls: WorkerCalls | None = None,
        verifier: Verifier | None = None,
        timeout: float | None = 1_800.0,
        attempt_timeout: float = 300.0,
        model_patience: float = 300.0,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        max_output_tokens: int = 2_000,
        approve: arguments.Policy = "ask",
        approve_rules: Mapping[str, arguments.Policy] | None = None,
        approval_timeout: float | None = None,
        on_text: Callable[[str, str, str], None] | None = None,
        on_approval: OnApproval | None = None,
        deps: Any = None,
        hooks: Iterable[Hook | type[Hook]] = (),
    ) -> None:
        by_use = {"lead": lead_model, "worker": worker_model, "review": review_model}
        self._settings = settings(
            home=home,
            database=database,
            model=model,
            base_url=base_url,
            api_key=api_key,
            models={use: name for use, name in by_use.items() if name is not None},
            documents=documents,
            project=project,
            concurrency=concurrency,
            limits=arguments.limits(
                Limits(),
                max_steps=max_steps,
                max_workers=max_workers,
                batch_size=batch_size,
                budget=budget,
                timeout=timeout,
                attempt_timeout=attempt_timeout,
                model_patience=model_patience,
                max_requests=max_requests,
                max_tokens=max_tokens,
                max_output_tokens=max_output_tokens,
                approval_timeout=approval_timeout,
            ),
            budgets=arguments.shared_budgets(budget_per_day, budget_total),
            budget_set=not all(map(arguments.is_usual, (budget, budget_per_day, budget_total))),
            check=check,
            worker_calls=worker_calls,
            **arguments.flags(offline=offline, allow_unknown_price=allow_unknown_price),
            **arguments.flags(only_documents=only_documents, strict=strict),
            approve=arguments.approval_policy(approve),
            approve_rules=arguments.approval_rules(approve_rules),
        )
        self._bounded = not isinstance(budget, arguments.Usual)
        self._adapters: dict[str, Models] = {}
        """The adapters of single runs, by the names in their logs: a run can be resumed here later."""
        parts = {"flows": flows, "project": project, "offline_rules": offline_rules, "models": models, "store": store}
        arguments.check_parts(**parts, verifier=verifier, on_text=on_text, on_approval=on_approval)
        self._on_approval = on_approval
        self.agents = bound_agents(agents)
        self._flows = FlowRegistry(flows, self.agents, dict(offline_rules or {}), workers)
        self._toolbox = toolbox(tools, deps, None if project is None else project.manifest.tool_settings)
        for tool in self._flows.tools_of_workers():
            self._toolbox.offer(tool)
        self._open = partial(
            open_runtime,
            self._settings,
            self._toolbox,
            models=models,
            store=store,
            flows=self._flows,
            on_text=on_text,
            added=self._adapters,
            hooks=arguments.hooks(hooks),
            verifier=verifier,
        )
        self._runtime = None

    @classmethod
    def of_project(cls, path: Path | str = ".", **settings: Any) -> Self:
        """Return a Leadhand with everything that a manifest sets; ``settings`` replace what it says.

        ``path`` is a ``leadhand.toml``, or a directory: the nearest manifest there or above it is used. Raises
        UsageError for a missing one, ConfigurationError, with file and line, for one that cannot be used.
        """
        from leadhand.app.project.config_files import find_manifest
        from leadhand.app.project.manifest import load_project  # most processes have no project

        named = Path(path)
        project = load_project((find_manifest(named) if named.is_dir() else None) or named)
        return cls(**{**project.arguments(), **settings})

    @property
    def settings(self) -> Settings:
        return self._settings

    async def runtime(self, *, reading: bool = False) -> Runtime:
        """The opened parts of this process; opened on first use, also in a home that is read-only if ``reading``."""
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

    def _run(self, runtime: Runtime, state: RunState, *, drive: bool = True, output: Output = None) -> Run[Any]:
        return Run(runtime, state, drive=drive, on_approval=self._on_approval, output=output)

    async def start(
        self,
        request: str,
        *,
        flow: FlowName | str = DEFAULT,
        worker: Worker | str | None = None,
        output: Wanted[ValueT] = None,
        name: str = "",
        tags: Mapping[str, str] | None = None,
        priority: int = 0,
        instructions: str | Mapping[str, str] | None = None,
        model: str | Models | None = None,
        budget: float | None = AS_CONFIGURED,
        limits: Mapping[str, Any] | None = None,
        check: Check | None = None,
        tools: Iterable[RunTool] | None = None,
        plan_only: bool = False,
        approve_plan: bool = False,
        deps: Any = None,
        messages: Iterable[Mapping[str, str]] = (),
        **options: Any,
    ) -> Run[ValueT]:
        """Start a run and return at once; the run continues in the background of this event loop.

        ``options`` are those of the ``flow``, ``output`` is the type of ``answer.value``: a pydantic model or a JSON
        schema. Lists show ``name`` in place of the request; ``tags`` are texts by key, to find the run by. Waiting runs
        with a higher ``priority`` (-100 to 100) and their steps are begun first.

        What only this run has: ``instructions`` added to those of every worker, or of workers by name; a ``model`` for
        all workers, by name or as an adapter; a ``budget`` in dollars, at most that of this Leadhand; ``tools``, the
        only ones that it may use of those registered here, by name or as they are. The log records them, so that a
        resumed run has the same.

        ``deps`` are what the tools and workers of this run find in place of ``Leadhand(deps=…)``, such as the session
        of a user. No log has them, so this process alone carries the run out, and one that continues it gives it
        others: ``lead.resume(run_id, deps=…)``. ``messages`` are those of the conversation that led to the request, the
        oldest first: ``[{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]``.

        A ``worker``, or one of the project by name, carries the request out by itself. ``limits`` and ``check`` are
        those of this run, where it has others.

        ``plan_only`` ends with the plan, in ``answer.plan``: the run waits, and :meth:`resume` or :meth:`approve`
        carries the plan out. With ``approve_plan``, a person has to approve the plan before any work begins.

        Raises UsageError for an invalid argument, ConfigurationError for a model, home or database that cannot be used.
        """
        shape, inputs = cast("Output", output), options.pop("inputs", None) if worker is not None else None
        request, flow, options, own_worker = led(request, flow, options, worker=worker, inputs=inputs)
        checked = arguments.check_request(request, example=EXAMPLE)
        check_options(self._flows, flow, options, elsewhere=inspect.signature(Leadhand).parameters)
        _ = answer_worker(shape, ())
        asked_for: Any = {"name": name, "tags": tags, "priority": priority, "instructions": instructions}
        asked_for |= {"tools": tools, "plan_only": plan_only, "approve_plan": approve_plan}
        own = NewRun(**asked_for, output=shape, worker=own_worker, deps=deps, messages=messages)
        found: Any = {"model": model, "budget": budget, "bounded": self._bounded, "check": check, "more": limits}
        asked, adapter = asked_settings(self._settings, **found)
        if own_worker is not None:
            self._flows.keep(own_worker)
            for tool in self._flows.tools_of_workers(own_worker):
                self._toolbox.offer(tool)
        runtime = await self.runtime()
        state = await runtime.start(checked, flow=flow, options=options, asked=asked, run=own, model=adapter)
        return self._run(runtime, state, output=self._flows.output_of(state.definition) if shape is None else shape)

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
        runtime.give(run_id, deps)
        return Run(runtime, await runtime.load(arguments.run_id(run_id)), drive=False)

    async def attach(self, run_id: str, *, deps: Any = None) -> Run:
        """Return a run: follow it while another process drives it, or resume it if its process died.

        A paused run stays paused; see :meth:`resume`. ``deps`` are those of a run that was started with its own.
        Raises NoSuchRun.
        """
        runtime, run_id = await self.runtime(), arguments.run_id(run_id)
        runtime.give(run_id, deps)
        listing = await runtime.store.run(run_id)
        if listing.orphan:
            return self._run(runtime, await runtime.take_over(run_id))
        return self._run(runtime, await runtime.load(run_id), drive=False)

    async def resume(self, run_id: str, *, deps: Any = None, **limits: Unpack[NewLimits]) -> Run:
        """Resume a run that is paused, waiting or orphaned, with other ``limits`` if some are given: ``budget``,
        ``timeout``, ``max_requests``, ``max_tokens``, each for the run as a whole, and ``max_turns`` of the lead of a
        research run.

        ``deps`` are those of a run that was started with its own. With other limits, a finished run is reopened: what
        failed is retried, a lead that a limit stopped continues where it stopped, and the answer is written again.
        Raises NoSuchRun, RunOwned while another process drives it, and UsageError if it has ended.
        """
        runtime, limits = await self.runtime(), known_limits(limits)
        runtime.give(run_id, deps)
        return self._run(runtime, await operator.resume(runtime, arguments.run_id(run_id), by=user(), **limits))

    async def follow_up(self, run_id: str, request: str, **options: Any) -> Run:
        """Start a run that follows up an earlier one. See :meth:`Run.follow_up`, which has the same ``options``."""
        return await (await self.get(run_id)).follow_up(request, **options)

    async def fork(
        self, run_id: str, at: int, *, confirmed: bool = False, deps: Any = None, **limits: Unpack[NewLimits]
    ) -> Run:
        """Fork a run: a new run copies its events up to event ``at`` and continues independently in this process.

        The first run does not change. Raises NoSuchRun, and UsageError for an event from which a run cannot continue,
        and, unless ``confirmed``, after irreversible calls that the fork may repeat. See :meth:`resume` for ``limits``.
        """
        runtime, run_id, limits = await self.runtime(), arguments.run_id(run_id), known_limits(limits)
        runtime.give(run_id, deps)
        return self._run(runtime, await operator.fork(runtime, run_id, at, confirmed=confirmed, **limits))

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
