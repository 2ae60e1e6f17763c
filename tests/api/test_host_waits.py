"""Why runs and steps wait for a host, in words."""

from __future__ import annotations

import re

import pytest

from leadhand.app.runtime.membership import driver_wait
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.ports.hosts import HostKind, HostLine

RUN = RunDefinition(request="do it", flow="pieces", models=ModelChoice(default="offline"))


def host(name: str = "one", **said: object) -> HostLine:
    known = {"kind": HostKind.HOST, "concurrency": 4, "flows": ("pieces",)}
    return HostLine.model_validate({"host": name, "here": False, **known, **said})


@pytest.mark.parametrize(
    ("hosts", "tools", "named"),
    [
        ([], set(), {"leadhand work", "leadhand serve"}),
        ([host(kind=HostKind.RUN)], set(), {"leadhand work", "leadhand serve"}),
        ([host(draining=True)], set(), {"leadhand work", "leadhand serve"}),
        ([host(flows=())], set(), {"pieces"}),
        ([host()], set(), set()),  # it is in the queue
        ([host(tools=("a",)), host(tools=("c",), flows=())], {"a", "c"}, {"c"}),
        ([host()], {"b", "a"}, {"a", "b"}),
        ([host(tools=("a",)), host("two", tools=("b",))], {"a", "b"}, {"a", "b"}),
        ([host(tools=("a",))], {"a"}, set()),
    ],
)
def test_a_run_waits_for_what_no_host_has(hosts: list[HostLine], tools: set[str], named: set[str]) -> None:
    assert {*re.findall("`(.*?)`", driver_wait(RUN, tools, hosts))} == named


def test_a_refusal_counts_only_where_hosts_seem_to_have_everything() -> None:
    assert "no model m" in driver_wait(RUN, set(), [host()], "no model m")
    missing = driver_wait(RUN, {"a"}, [host()], "no model m")
    assert ("`a`" in missing, "no model m" in missing) == (True, False)
