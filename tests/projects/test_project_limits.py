"""Limits at once, rates and caches that a project sets: what its runs record, and what mistakes lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand import Leadhand
from leadhand.core.errors import ConfigurationError
from leadhand.core.limits import SharedLimit

TOOLS = """
from leadhand import tool

@tool(concurrency=9, cache="1d")
def prices(shop: str) -> str:
    "Prices of a shop."
    return shop

@tool(effect="once")
def pay(shop: str) -> str:
    "Pay."
    return shop
"""
WHOLE = """name = "support"
tools = ["tools.py"]

[concurrency]
project = 50
models = {"openai:gpt-5" = 8}

[tool_settings.prices]
concurrency = 2
rate = "30/min"

[tool_settings.web_search]
cache = "1h"
"""


def written(tmp_path: Path, manifest: str) -> Path:
    file = f"{tmp_path.name}_tools.py"  # a process imports a module of one name once
    (tmp_path / file).write_text(TOOLS)
    (tmp_path / "leadhand.toml").write_text(manifest.replace("tools.py", file))
    return tmp_path / "leadhand.toml"


async def test_runs_of_a_project_record_its_limits(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    async with Leadhand.of_project(path, model="offline", home=tmp_path / "home") as lead:
        definition = (await (await lead.runtime()).start("prices of a shop", flow="research")).definition
    assert definition.concurrency.models == {"openai:gpt-5": 8}
    assert definition.concurrency.steps == (SharedLimit(scope="the project `support`", most=50),)
    found = {tool.name: tool for tool in definition.tools}
    assert (found["prices"].concurrency, found["prices"].rate, found["prices"].cache_s) == (2, "30/min", 86_400.0)
    assert found["web_search"].cache_s == 3_600.0
    assert found["pay"].concurrency is None


@pytest.mark.parametrize(
    ("settings", "what", "how"),
    [
        ('[tool_settings.price]\nrate = "1/s"', "price", "prices"),
        ('[tool_settings.filesystem_read]\ncache = "1h"', "research", "cache"),
        ('[tool_settings.worker_call]\ncache = "1h"', "dynamic_workers", "cache"),
        ('[tool_settings.pay]\ncache = "1h"', "pay", "cache"),
    ],
)
async def test_settings_that_no_tool_can_have_are_refused_when_a_run_starts(
    tmp_path: Path, settings: str, what: str, how: str
) -> None:
    path = written(tmp_path, f'tools = ["tools.py"]\n{settings}')
    async with Leadhand.of_project(path, model="offline", home=tmp_path / "home") as lead:
        with pytest.raises(ConfigurationError) as refused:
            await lead.start("prices of a shop")
    assert refused.value.what.startswith(f"{path}:2: "), refused.value.what
    assert what in refused.value.what
    assert how in refused.value.how
