"""Define runs: everything that is fixed when they start."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

from leadhand.app.arguments import check_rules
from leadhand.app.project.declared_workers import project_tools, run_workers, worker_tools
from leadhand.app.project.flows import FlowRegistry, file_of
from leadhand.app.run_settings import NewRun, answer_worker, check_plan, instructed, narrowed
from leadhand.app.runtime.model_selection import Choice, NamedModels, unpriced_models
from leadhand.app.settings import Settings, reserves
from leadhand.core.artifact import FileVersion, newest_files
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.run import Follows, ModelChoice, RunDefinition
from leadhand.core.state import RunState
from leadhand.core.tool import Source
from leadhand.core.work_result import Check
from leadhand.core.worker import Worker
from leadhand.engine.hooks import Hooks
from leadhand.ports import ContextStore
from leadhand.tools.toolbox import Toolbox
from leadhand.verify.judge import Verifier, judging_workers

LOGGER = logging.getLogger("leadhand")
MOST_FILES = 200
"""Files of earlier runs that a run may read, at most."""


OF_SETTINGS = ["limits", "approve", "offline", "documents", "only_documents", "strict", "budgets"]
"""The fields that a run has as its settings have them."""
OF_RUN = ["detached", "by", "key_id", "name", "instructions", "plan_only", "approve_plan", "traceparent"]
"""The fields that a run has as only this run has them."""


class Parts(Protocol):
    """The parts of a process that define runs."""

    store: ContextStore
    models: NamedModels
    toolbox: Toolbox
    flows: FlowRegistry
    hooks: Hooks
    verifier: Verifier | None


async def definition_of_new(
    parts: Parts,
    request: str,
    flow: str,
    options: Mapping[str, Any],
    wanted: Settings,
    choice: Choice,
    run: NewRun,
    *,
    submission: str,
    follows: RunState | None,
) -> RunDefinition:
    """Return the definition of a run with the settings that are ``wanted``. Raises UsageError, ConfigurationError.

    The other arguments are those of :meth:`~leadhand.app.runtime.runtime.Runtime.start`.
    """
    flows, toolbox, models = parts.flows, parts.toolbox, parts.models
    checked = flows.options(flow, options)
    used, of_flow = flows.get(flow), flows.workers(flow, checked)
    if follows is not None:
        run = run.following(follows.definition, used)
    check_plan(used, run)
    of_program = flows.of_program(run.worker, flow, checked, wanted.project)
    every = (*of_flow, *run_workers(wanted.project, toolbox, flow, checked, of_flow, request, of_program))
    called = worker_tools(every)
    own_models = {name for worker in every for name in usable(worker, models, offline=wanted.offline)}
    more = unpriced_models(wanted, models, sorted(own_models - {*choice.models.names}))
    shape = answer_worker(run.output, every)
    check = check_of(wanted, choice.models)
    judging = judging_workers(check, every, verifier=parts.verifier is not None)
    stages = 2 + (shape is not None) + bool(judging)
    catalogue = (
        *toolbox.specs((*project_tools(wanted.project, toolbox), *(name for worker in every for name in worker.tools))),
        *called,
    )
    check_rules(wanted.approve_rules, catalogue, toolbox)
    tools, workers = narrowed(catalogue, run.tools, every, fetch=not wanted.only_documents)
    workers = instructed((*workers, *judging), run.instructions)
    earlier = await files_to_read(parts, flow, run.key_id, follows, wanted) if used.reads_artifacts else ()
    same = {name: getattr(wanted, name) for name in OF_SETTINGS} | {name: getattr(run, name) for name in OF_RUN}
    return RunDefinition(
        **same,
        needs_prices=wanted.needs_prices,
        request=request,
        flow=flow,
        flow_file=file_of(used),
        workers=workers if shape is None else (*workers, shape),
        options=checked,
        models=choice.models,
        tools=tools,
        shape="" if shape is None else shape.name,
        check=check,
        worker_calls=wanted.worker_calls or "auto",
        judging=tuple(each.name for each in judging),
        approve_rules=dict(wanted.approve_rules),
        **reserves(wanted.limits, stages),
        unpriced=(*choice.unpriced, *more),
        concurrency=wanted.concurrency_of_runs,
        submission=submission,
        follows=followed(follows) if follows is not None else None,
        earlier=earlier,
        tags=dict(run.tags or {}),
        only_tools=run.tools,
        own_deps=run.deps is not None,
        messages=run.messages,
        hooks=parts.hooks.names,
    )


def check_of(wanted: Settings, models: ModelChoice) -> Check:
    """Return who checks the answer of a run. Raises UsageError if the built-in model would be the judge."""
    is_offline = wanted.offline or models.of("review") == "offline"
    if wanted.check == "judge" and is_offline:
        what = "the built-in offline model cannot judge answers"
        raise UsageError(what, "Choose another model for the judge with --review-model, or use --check exact.")
    return wanted.check or ("off" if is_offline else "judge")


def usable(worker: Worker, models: NamedModels, *, offline: bool) -> list[str]:
    """Return those of a worker's models that can be used here. Raises ConfigurationError if none of them can be, and
    UsageError in an offline run for one that is not built in, unless the program has its own port."""
    online = [name for name in worker.models if name != "offline"]
    if offline and online and models.own is None:
        what = f"the worker {worker.name} uses the model {online[0]}, and the run is offline"
        raise UsageError(what, "Leave out its model, or start the run without --offline.")
    found: list[str] = []
    failure: ConfigurationError | None = None
    for name in worker.models:
        try:
            models.check(name)
            found.append(name)
        except ConfigurationError as error:
            failure = failure or error
    if failure is not None and not found:
        raise failure
    return found


# --- what a new run takes from earlier ones ---------------------------------------------------------------------------


def followed(earlier: RunState) -> Follows:
    """Return what a follow-up records of the run that it follows."""
    finished = earlier.finished
    return Follows(
        run_id=earlier.run_id,
        request=earlier.definition.request,
        answer=finished.answer if finished is not None else "",
        sources=tuple(Source(title=each.title, url=each.url) for each in finished.sources) if finished else (),
    )


async def files_to_read(
    parts: Parts, flow: str, key_id: str, earlier: RunState | None, wanted: Settings
) -> tuple[FileVersion, ...]:
    """Return the files that a new run may read: those of the run that it follows, then those of its flow and key.

    Of other runs than the one that it follows, it reads only what the store finds for its documents.
    Their content is kept until the run is created. What is no longer stored is left out, with a warning.
    """
    found, store = list(_files_of(earlier)) if earlier is not None else [], parts.store
    found += await store.earlier_files(flow, key_id, MOST_FILES, offline=wanted.offline, documents=wanted.documents)
    files = newest_files(found, MOST_FILES)
    lost = await missing(store, files)
    return tuple(file for file in files if file not in lost)


def _files_of(run: RunState) -> Iterator[FileVersion]:
    for versions in run.artifacts.values():
        yield versions[-1].evolve(run_id=run.run_id)


async def missing(store: ContextStore, files: Collection[FileVersion]) -> list[FileVersion]:
    """Return the files whose content is no longer stored, and warn of them in one line; keep that of the others."""
    there = await store.keep_blobs(sorted({file.digest for file in files})) if files else ()
    lost = [file for file in files if file.digest not in there]
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        LOGGER.warning(
            "the run continues without %s of run %s%s: the content is no longer stored",
            lost[0].path,
            lost[0].run_id,
            more,
        )
    return lost
