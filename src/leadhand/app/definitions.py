"""Define runs: everything that is fixed when they start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypedDict, Unpack

from leadhand.app.arguments import check_rules, run_name, run_priority, run_tags
from leadhand.app.earlier_runs import files_to_read, followed
from leadhand.app.flows import FlowRegistry, file_of
from leadhand.app.model_selection import Choice, NamedModels, unpriced_models
from leadhand.app.project_workers import project_parts, with_workers, worker_tools
from leadhand.app.run_settings import RunSettings, check_plan, followed_settings, instructed, narrowed, without_fetch
from leadhand.app.settings import Settings, reserves
from leadhand.app.typed_answers import Output, answer_worker
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.judgement import Check
from leadhand.core.run import EarlierFile, ModelChoice, RunDefinition
from leadhand.core.state import RunState
from leadhand.core.text import did_you_mean
from leadhand.core.tool import ToolSpec
from leadhand.core.worker import WILDCARDS, Worker
from leadhand.flows.seam.worker import Worker as ProgramWorker
from leadhand.ports import ContextStore
from leadhand.tools.toolbox import Toolbox
from leadhand.verify.judge import Verifier, judging_workers


class OfNewRun(TypedDict, total=False):
    """What is recorded of a new run beside its request, flow and options.

    ``detached``: it outlives its process. ``by`` starts it, ``key_id`` is the API key that it belongs to. ``output`` is
    the type of the answer, ``worker`` one of the program that carries it out.
    """

    detached: bool
    by: str
    key_id: str
    name: str
    tags: Mapping[str, str] | None
    priority: int
    output: Output
    worker: ProgramWorker | None


class Definitions(NamedTuple):
    """Defines runs with the parts of a process."""

    store: ContextStore
    models: NamedModels
    toolbox: Toolbox
    flows: FlowRegistry
    hooks: tuple[str, ...] = ()
    verifier: Verifier | None = None

    async def of_run(
        self,
        request: str,
        flow: str,
        options: Mapping[str, Any],
        wanted: Settings,
        choice: Choice,
        *,
        run: RunSettings,
        submission: str,
        follows: RunState | None,
        **given: Unpack[OfNewRun],
    ) -> RunDefinition:
        """Return the definition of a run with the settings that are ``wanted``. Raises UsageError, ConfigurationError.

        The other arguments are those of :meth:`~leadhand.app.runtime.Runtime.start`.
        """
        key_id = given.get("key_id", "")
        checked = self.flows.options(flow, with_workers(wanted.project, self.toolbox, flow, options))
        used, of_flow = self.flows.get(flow), self.flows.workers(flow, checked)
        if follows is not None:
            run = followed_settings(run, follows.definition, used)
        check_plan(used, run)
        of_program = self.flows.of_program(given.get("worker"), flow, checked, wanted.project)
        project = project_parts(wanted.project, self.toolbox, flow, checked, of_flow, request, of_program)
        every = (*of_flow, *project.workers)
        called = worker_tools(every)
        check_workers(every, self.toolbox, self.models, called, offline=wanted.offline)
        own_models = {name for worker in every for name in usable(worker, self.models)}
        more = unpriced_models(wanted, self.models, sorted(own_models - {*choice.models.names}))
        shape = answer_worker(given.get("output"), every)
        check = check_of(wanted, choice.models)
        judging = judging_workers(check, every, verifier=self.verifier is not None)
        stages = 2 + (shape is not None) + bool(judging)
        catalogue = (*self.toolbox.specs(project.tools), *called)
        check_rules(wanted.approve_rules, catalogue, self.toolbox)
        if wanted.only_documents:
            catalogue, every = without_fetch(catalogue, every)
        tools, workers = narrowed(catalogue, run.tools, every)
        workers = instructed((*workers, *judging), run.instructions)
        return RunDefinition(
            request=request,
            flow=flow,
            flow_version=used.version,
            flow_file=file_of(used),
            workers=workers if shape is None else (*workers, shape),
            options=checked,
            models=choice.models,
            tools=tools,
            shape="" if shape is None else shape.name,
            check=check,
            strict=wanted.strict,
            worker_calls=wanted.worker_calls or "auto",
            judging=tuple(each.name for each in judging),
            nested_workers=project.nested_workers,
            limits=wanted.limits,
            approve=wanted.approve,
            approve_rules=dict(wanted.approve_rules),
            offline=wanted.offline,
            documents=wanted.documents,
            only_documents=wanted.only_documents,
            detached=given.get("detached", False),
            **reserves(wanted.limits, stages),
            budgets=wanted.budgets,
            needs_prices=wanted.needs_prices,
            unpriced=(*choice.unpriced, *more),
            concurrency=wanted.concurrency_of_runs,
            no_cache=wanted.no_cache,
            by=given.get("by", ""),
            key_id=key_id,
            submission=submission,
            follows=followed(follows) if follows is not None else None,
            earlier=await self._earlier(flow, key_id, follows, wanted) if used.reads_artifacts else (),
            name=run_name(given.get("name", "")),
            tags=run_tags({**(follows.definition.tags if follows is not None else {}), **(given.get("tags") or {})}),
            priority=run_priority(given.get("priority", 0)),
            instructions=dict(run.instructions),
            only_tools=run.tools,
            hooks=self.hooks,
            plan_only=run.plan_only,
            approve_plan=run.approve_plan,
            traceparent=run.traceparent,
        )

    async def _earlier(
        self, flow: str, key_id: str, follows: RunState | None, wanted: Settings
    ) -> tuple[EarlierFile, ...]:
        found = self.store, flow, key_id, follows
        return await files_to_read(*found, offline=wanted.offline, documents=wanted.documents)


def check_of(wanted: Settings, models: ModelChoice) -> Check:
    """Return who checks the answer of a run. Raises UsageError if the built-in model would be the judge."""
    is_offline = wanted.offline or models.of("review") == "offline"
    if wanted.check == "judge" and is_offline:
        what = "the built-in offline model cannot judge answers"
        raise UsageError(what, "Choose another model for the judge with --review-model, or use --check exact.")
    return wanted.check or ("off" if is_offline else "judge")


def usable(worker: Worker, models: NamedModels) -> list[str]:
    """Return those of a worker's models that can be used here. Raises ConfigurationError if none of them can be."""
    found: list[str] = []
    errors: list[ConfigurationError] = []
    for name in worker.models:
        try:
            if models.own is None:
                models.check(name)
            found.append(name)
        except ConfigurationError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found


def check_workers(
    workers: Iterable[Worker], toolbox: Toolbox, models: NamedModels, called: Iterable[ToolSpec] = (), *, offline: bool
) -> None:
    """Raise UsageError for a worker with an unknown tool, or in an offline run with a model that is not built in.

    Raises ConfigurationError for a model that cannot be used. A program's own port knows its models best. ``called``
    are workers as tools.
    """
    known = {*WILDCARDS, *(tool.name for tool in called)}
    for worker in workers:
        if unknown := sorted(name for name in worker.tools if name not in known and toolbox.find(name) is None):
            tools = sorted(tool.name for tool in toolbox.known())
            raise UsageError(
                f"the worker {worker.name} names the tool {unknown[0]!r}, which does not exist",
                f"Available tools: {', '.join(tools) or 'none'}.{did_you_mean(unknown[0], tools)}",
            )
        online = [name for name in worker.models if name != "offline"]
        if offline and online and models.own is None:
            raise UsageError(
                f"the worker {worker.name} uses the model {online[0]}, and the run is offline",
                "Leave out its model, or start the run without --offline.",
            )
        usable(worker, models)
