"""A flow of one run as the engine uses it, with the steps that end the run."""

from __future__ import annotations

from typing import Any

from leadhand.core.run import RunDefinition

from .seam.context import Provided
from .seam.function import FunctionFlow
from .seam.run import FunctionRun


def policy_of(flow: FunctionFlow, definition: RunDefinition, **provided: Any) -> FunctionRun:
    """Return one run of a flow, with the steps that give its answer a shape, and judge it; ``provided`` is the
    rest of :class:`Provided`."""
    ending = None
    if definition.shape or definition.check != "off":
        from . import answering as ending  # an offline run has no judge
    return FunctionRun(flow, definition, Provided(ending=ending, **provided))
