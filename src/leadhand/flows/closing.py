"""A flow of one run with the steps that close the run: they give its answer a shape, and judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadhand.core.run import RunDefinition

from .flow import Flow
from .policy import ClosingStep, Fits, FlowPolicy
from .seam.function import FunctionFlow

if TYPE_CHECKING:
    from leadhand.verify.judge import Verifier


def policy_of(
    flow: Flow, definition: RunDefinition, fits: Fits | None = None, verifier: Verifier | None = None
) -> FlowPolicy:
    """Return the flow of a run as the engine uses it, with the steps that close the run.

    A typed answer has to pass ``fits``, besides the schema; ``verifier`` judges in place of a model.
    """
    if isinstance(flow, FunctionFlow):
        return _of_function(flow, definition, fits, verifier)
    steps: list[ClosingStep] = []
    if (shape := definition.worker(definition.shape)) is not None:
        from .shaping import Shaping  # few runs have a typed answer

        steps.append(Shaping(shape, fits))
    if definition.check != "off":
        from .answer_judging import Judging  # an offline run has no judge

        steps.append(Judging(flow, definition, fits, verifier))
    return FlowPolicy(flow, definition, steps)


def _of_function(
    flow: FunctionFlow, definition: RunDefinition, fits: Fits | None, verifier: Verifier | None
) -> FlowPolicy:
    policy = FlowPolicy(flow, definition)
    if policy.run is not None and (definition.shape or definition.check != "off"):
        from .answering import close, judge  # an offline run has no judge

        policy.run.ending, policy.run.judging = close, judge
        policy.run.fits, policy.run.verifier = fits, verifier
    return policy
