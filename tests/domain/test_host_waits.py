"""Why runs and assignments wait for a host, in words."""

from __future__ import annotations

import pytest

from leadhand.domain.host_waits import driver_wait
from leadhand.domain.hosts import Announcement, HostKind, HostLine
from leadhand.domain.run import ModelChoice, RunDefinition

RUN = RunDefinition(request="do it", flow="pieces", flow_version=2, models=ModelChoice(default="offline"))


def host(name: str = "one", **said: object) -> HostLine:
    known = {"kind": HostKind.HOST, "concurrency": 4, "flows": ("pieces",), "versions": {"pieces": (1, 2)}}
    return HostLine.model_validate({"host": name, "here": False, **known, **said})


@pytest.mark.parametrize(
    ("hosts", "tools", "reason"),
    [
        ([], set(), "waiting for a host: start one with `leadhand work` or `leadhand serve`"),
        ([host(kind=HostKind.RUN)], set(), "waiting for a host: start one with `leadhand work` or `leadhand serve`"),
        ([host(draining=True)], set(), "waiting for a host: start one with `leadhand work` or `leadhand serve`"),
        ([host(flows=())], set(), "waiting for a host that knows the flow `pieces`@2"),
        ([host(versions={"pieces": (1,)})], set(), "waiting for a host that knows the flow `pieces`@2"),
        ([host(versions={})], set(), "waiting in the queue"),  # it has not loaded the flow, or cannot say
        ([host(tools=("a",)), host(tools=("c",), flows=())], {"a", "c"}, "waiting for a host that has the tool `c`"),
        ([host()], {"b", "a"}, "waiting for a host that has the tools `a`, `b`"),
        (
            [host(tools=("a",)), host("two", tools=("b",))],
            {"a", "b"},
            "waiting for a host that has all of the tools `a`, `b`",
        ),
        ([host(tools=("a",))], {"a"}, "waiting in the queue"),
    ],
)
def test_a_run_waits_for_what_no_host_has(hosts: list[HostLine], tools: set[str], reason: str) -> None:
    assert driver_wait(RUN, tools, hosts) == reason


def test_a_refusal_counts_only_where_hosts_seem_to_have_everything() -> None:
    assert driver_wait(RUN, set(), [host()], "no model m") == "no host can drive it: no model m"
    assert driver_wait(RUN, {"a"}, [host()], "no model m") == "waiting for a host that has the tool `a`"


def test_a_later_release_may_announce_more() -> None:
    assert Announcement.model_validate({"kind": "host", "concurrency": 1, "colour": "red"}).concurrency == 1
