"""A run that an HTTP request starts is part of the trace of its caller, as W3C Trace Context says."""

from __future__ import annotations

import pytest
from server.doors import Door
from tracing.trees import Spans

from leadhand.app.telemetry.spans import outermost
from leadhand.app.telemetry.traces import callers_span

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("headers", "span"),
    [
        ([SENT], SENT),
        ([f" {SENT} "], SENT),
        ([f"00-{TRACE}-{SPAN}-00"], f"00-{TRACE}-{SPAN}-00"),
        ([f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like"], SENT),
        ([f"cc-{TRACE}-{SPAN}-01"], SENT),
        ([], ""),
        ([""], ""),
        ([SENT, SENT], ""),
        ([f"ff-{TRACE}-{SPAN}-01"], ""),
        ([f"{SENT}-more"], ""),
        ([f"cc-{TRACE}-{SPAN}-01.more"], ""),
        ([SENT.upper()], ""),
        ([f"00-{'0' * 32}-{SPAN}-01"], ""),
        ([f"00-{TRACE}-{'0' * 16}-01"], ""),
        ([f"00-{TRACE[1:]}-{SPAN}-01"], ""),
        ([f"00-{TRACE}-{SPAN}-1"], ""),
    ],
)
def test_a_malformed_header_is_ignored_and_a_later_version_is_read_as_the_first(headers: list[str], span: str) -> None:
    assert callers_span(headers) == span


async def test_a_run_continues_the_trace_of_its_caller_and_another_run_has_its_own(api: Door) -> None:
    spans = Spans()
    spans.of(api.service.runtime)
    runs = {}
    for header in (SENT, "nonsense"):
        runs[header] = await api.started("measure Paris", headers={"traceparent": header})
        await api.over(runs[header])
    follow = await api.post(f"/api/runs/{runs[SENT]}/follow-up", {"request": "again"}, headers={"traceparent": SENT})
    runs["again"] = follow.json()["run_id"]
    await api.over(runs["again"])

    for header in (SENT, "again"):
        of_run = [each for each in spans.all if each.attributes.get("leadhand.run.id") == runs[header]]
        (flow,) = [each for each in of_run if each.name.startswith("invoke_workflow")]
        assert (flow.context.trace_id, flow.parent.span_id) == (int(TRACE, 16), int(SPAN, 16))
    own = outermost(runs["nonsense"])
    assert {each.context.trace_id for each in spans.all} == {int(TRACE, 16), own.trace_id}
