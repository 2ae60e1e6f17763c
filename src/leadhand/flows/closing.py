"""A flow of one run as the engine uses it, with the steps that end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadhand.core.run import RunDefinition

from .flow import Fits
from .seam.function import FunctionFlow
from .seam.run import FunctionRun

if TYPE_CHECKING:
    from leadhand.verify.judge import Verifier


def policy_of(
    flow: FunctionFlow, definition: RunDefinition, fits: Fits | None = None, verifier: Verifier | None = None
) -> FunctionRun:
    """Return one run of a flow, with the steps that give its answer a shape, and judge it.

    A typed answer has to pass ``fits``, besides the schema; ``verifier`` judges in place of a model.
    """
    run = FunctionRun(flow, definition)
    if definition.shape or definition.check != "off":
        from .answering import close, judge  # an offline run has no judge

        run.ending, run.judging = close, judge
        run.fits, run.verifier = fits, verifier
    return run
