"""Follow-ups: new runs that continue an earlier one, with its flow, options, models, documents and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leadhand.app.project.toolsets import check_tools
from leadhand.app.run_settings import NewRun, changed
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import Settings
from leadhand.core.errors import UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.limits import Limits
from leadhand.core.run import ENDED, ModelChoice, RunDefinition, RunStatus
from leadhand.core.state import RunState

SHARED = ("budget_per_day", "budget_total", "allow_unknown_price")
"""The limits of a process that also hold for follow-ups of runs that had others."""
SETTINGS = {"lead": "plan", "compose": "compose", "review": "review", "worker": "work"}
"""The settings of models, and the uses of models that they are for."""


async def load_earlier(runtime: Runtime, run_id: str) -> RunState:
    """Return a run that can be followed up. Raises NoSuchRun, and UsageError for one that has not ended."""
    earlier = await runtime.load(run_id)
    if earlier.status not in ENDED:
        how, continued = Advice("Resume it first: {resume_run}", run=run_id), earlier.definition
        said = earlier.status.value
        if (await runtime.store.run(run_id)).orphan:
            said += ", and its process died"
        elif earlier.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            how, continued = Advice("Wait for its end: {watch_run}", run=run_id), None
        raise UsageError(f"run {run_id} has not ended ({said}), so it cannot be followed up", how, continued=continued)
    return earlier


async def start(
    runtime: Runtime,
    earlier: RunState,
    request: str,
    *,
    flow: str = "",
    options: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    run: NewRun,
) -> RunState:
    """Create a follow-up of a run, and return the state to drive.

    ``flow`` is another flow, ``options`` change single ones of the earlier run. Without another type, the answer has
    that of the earlier one.
    ``settings`` are those of :func:`continued`, ``run`` is what only the follow-up has. Raises as :meth:`Runtime.start`
    does, and ConfigurationError for a tool of the earlier run that is not in this process.
    """
    definition = earlier.definition
    if flow in ("", definition.flow):
        check_tools(definition.tools, runtime.toolbox)
    return await runtime.start(
        request,
        flow=flow or definition.flow,
        options=options_of(definition, flow, options or {}),
        asked=settings or continued(definition, runtime.settings),
        follows=earlier,
        run=run if run.output is not None else replace(run, output=output_of(definition)),
    )


def output_of(earlier: RunDefinition) -> dict[str, Any] | None:
    """Return the JSON schema of the answer of a run; None for text."""
    return None if (shape := earlier.worker(earlier.shape)) is None else shape.output


def options_of(earlier: RunDefinition, flow: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a follow-up: those of the earlier run, if it has the same flow, with what is given."""
    return {**earlier.options, **given} if flow in ("", earlier.flow) else dict(given)


def continued(
    earlier: RunDefinition,
    usual: Settings,
    *,
    model: str | None = None,
    models: Mapping[str, str] | None = None,
    documents: str | None = None,
    limits: Limits | None = None,
) -> Settings:
    """Return the settings of a follow-up: those of the earlier run, where nothing else is given.

    ``model`` is another model for all uses, ``models`` are those for single uses, by setting; ``documents`` is another
    directory. ``limits`` are those that change. Approvals are not taken over: the
    policy of this process holds. Raises UsageError for an invalid value.
    """
    offline = usual.offline or (earlier.offline and model is None and not models)
    before = models_of(earlier.models)
    if models and "lead" in models:
        before.pop("compose", None)  # the lead composes, unless another model does
    as_before = replace(
        usual,
        model="offline" if offline else earlier.models.default,
        models={} if offline else before,
        offline=offline,
        documents=earlier.documents if documents is None else documents,
        only_documents=usual.only_documents or earlier.only_documents,
        limits=earlier.limits.changed.patched(usual.limits.only(SHARED)).patched(limits),
        check=usual.check or (earlier.check if earlier.offline == offline else None),
        strict=usual.strict or earlier.strict,
        worker_calls=usual.worker_calls or earlier.worker_calls,
    )
    return changed(as_before, model=None if offline else model, models={} if offline else models)


def models_of(choice: ModelChoice) -> dict[str, str]:
    """Return the models of a run by setting."""
    return {setting: choice.of(use) for setting, use in SETTINGS.items()}
