"""What the log of a process says of a run that it drives: that it begins and how it ends, without text of the run."""

from __future__ import annotations

import logging
from typing import Any

from leadhand.app.telemetry.traces import span_above
from leadhand.core.limits import usd
from leadhand.core.run import ENDED
from leadhand.core.state import RunState

LOGGER = logging.getLogger("leadhand.runs")
FIELDS = "leadhand_fields"
"""The attribute of a log record with its fields, each of which is one of the line in JSON."""


def note_begin(state: RunState) -> None:
    """Log that this process begins to drive a run, or continues it."""
    _log("run started" if state.seq == 1 else "run continued", state, flow=state.definition.flow)


def note_end(state: RunState) -> None:
    """Log how a run is when this process stops driving it; of a failure its type and class, which quote nothing."""
    end = state.finished
    if end is None or state.status not in ENDED:
        _log("run left", state, status=state.status.value)
        return
    took = (state.finished_at or state.last_at or state.created_at) - state.created_at - state.rested
    failed = {} if end.failure is None else {"failure": end.failure.type, "class": end.failure.class_.value}
    cost = {} if state.unpriced else {"cost_usd": usd(state.spent.nanousd)}
    about = {"status": end.status.value, "seconds": round(took.total_seconds(), 3), "gaps": len(end.gaps)}
    _log("run ended", state, **about, requests=state.spent.requests, **cost, **failed)


def _log(event: str, state: RunState, **fields: Any) -> None:
    trace, *_ = span_above(state.run_id, state.definition.traceparent)
    LOGGER.info(event, extra={FIELDS: {"run_id": state.run_id, "trace_id": trace, **fields}})
