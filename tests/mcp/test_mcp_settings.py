"""How MCP servers are named, which of their tools are used and how, and what is said of what cannot be used."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from mcp_servers import OURS, notes, ours
from refusals import refused

from leadhand import ConfigurationError, Leadhand, UsageError, mcp, openapi
from leadhand.app.project.manifest import load_project
from leadhand.app.project.tool_sources import sources_named
from leadhand.core.tool import Effect
from leadhand.tools.source import name_of
from leadhand.tools.toolbox import Toolbox


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("uvx mcp-server-time", "time"),
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", "filesystem"),
        ("npx @modelcontextprotocol/server-everything@2026.8.31 stdio", "everything"),
        ("python -m weather_mcp", "weather_mcp"),
        (["uv", "run", "/srv/tools/my-server.py"], "my"),
        ("https://mcp.example.org/mcp", "example_org"),
        ("http://127.0.0.1:3001/mcp", "mcp_127_0_0_1"),
        ("docker run -i --rm weather", "docker"),
    ],
)
def test_a_server_is_named_after_its_command_or_host(server: Any, name: str) -> None:
    assert mcp(server).name == name


@pytest.mark.parametrize(
    ("server", "given"),
    [
        ("", {}),
        ([], {}),
        ("uvx x", {"headers": {"a": "b"}}),
        ("http://x", {"env": {"a": "b"}}),
        ("uvx x", {"effects": {"a": "harmless"}}),
        ("uvx x", {"name": "no name"}),
        ("uvx x", {"timeout": 0}),
        ("uvx x", {"timeout": "soon"}),
        ("uvx 'x", {}),
    ],
)
def test_settings_that_cannot_be_used_are_refused(server: Any, given: dict[str, Any]) -> None:
    with refused(UsageError):
        mcp(server, **given)


@pytest.mark.parametrize(("given", "seconds"), [(2, 2.0), ("30s", 30.0), ("2m", 120.0)])
def test_the_time_of_a_call_is_a_duration_as_everywhere(tmp_path: Path, given: Any, seconds: float) -> None:
    (tmp_path / "leadhand.toml").write_text(
        f'[mcp.rooms]\ncommand = "x"\ntimeout = {json.dumps(given)}\n'
        f'[openapi.shop]\ndocument = "shop.json"\ntimeout = {json.dumps(given)}\n'
    )
    manifest = load_project(tmp_path).manifest
    assert manifest.mcp["rooms"].timeout == manifest.openapi["shop"].timeout == seconds
    assert mcp("x", timeout=given).timeout == openapi("shop.json", timeout=given).timeout == seconds


def test_two_equal_flags_name_one_server_and_two_servers_need_two_names() -> None:
    time = ("mcp", "uvx mcp-server-time")
    assert [each.name for each in sources_named([time, time])] == ["time"]
    with refused(UsageError):
        Toolbox(sources_named([time, ("mcp", "uvx mcp-server-time --local-timezone UTC")]))


@pytest.mark.parametrize(
    ("content", "kind"), [(b"<html>Welcome</html>", "text/html"), (b'{"hello": "you"}', "application/json")]
)
async def test_a_url_that_is_no_mcp_server_is_an_error_in_one_line(content: bytes, kind: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=content, content_type=kind)

    app = web.Application()
    app.router.add_route("*", "/page", answer)
    async with TestServer(app) as served:
        url = str(served.make_url("/page"))
        with pytest.raises(ConfigurationError) as error:
            async with Toolbox([mcp(url, name="page")]):
                pass
    assert url in error.value.what
    assert max(len(error.value.what), len(error.value.how)) < 200
    assert "\n" not in error.value.what + error.value.how


@pytest.mark.parametrize(
    ("given", "name"), [("get-sum", "get_sum"), ("repo.search", "repo_search"), ("2fa", "_2fa"), ("größe", "gr__e")]
)
def test_names_become_what_models_and_work_orders_can_use(given: str, name: str) -> None:
    assert name_of(given) == name
    assert len(name_of("x" * 65)) == 64
    assert name_of("x" * 65) != name_of("x" * 66)


@pytest.mark.parametrize(
    ("server", "what"),
    [
        ("there-is-no-such-command", "there-is-no-such-command"),
        ([sys.executable, "-c", "raise SystemExit('no key')"], "no key"),
        ("http://127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp"),
        (mcp("uvx x", env={"KEY": "env:NO_SUCH_VARIABLE"}), "NO_SUCH_VARIABLE"),
        (mcp("http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer env:NO_SUCH_VARIABLE"}), "NO_SUCH_VARIABLE"),
        (ours("/tmp", include=["nothing"]), "nothing"),
        (ours("/tmp", effects={"payy": "once"}), "payy"),
    ],
    ids=["no command", "no server", "no listener", "no variable", "no variable in a header", "no tool", "no effect"],
)
async def test_a_server_that_cannot_be_used_is_named_with_the_reason(server: Any, what: str) -> None:
    source = server if hasattr(server, "connect") else mcp(server, name="odd")
    with pytest.raises(ConfigurationError) as error:
        async with Toolbox([source]):
            pass
    assert what in error.value.what
    assert source.name in error.value.what
    assert error.value.how


async def test_effects_of_the_project_replace_those_of_the_server_and_names_that_clash_get_a_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TESTS", "hidden")
    monkeypatch.setenv("THE_KEY", "key-of-the-server")
    place = str(tmp_path)
    first = ours(
        place, effects={"pay": "idempotent", "l*": "once"}, include=["pay", "look"], env={"KEY": "env:THE_KEY"}
    )
    second = ours(place, name="other", include=["pay"])
    third = ours(place, name="third", include=["pay"], prefix="my_")
    async with Toolbox([first, second, third]) as tools:
        found = {each.name: (each.effect, each.import_path) for each in tools.specs()}
    assert found == {
        "pay": (Effect.IDEMPOTENT, "mcp:ours:pay"),
        "look": (Effect.ONCE, "mcp:ours:look"),
        "other_pay": (Effect.ONCE, "mcp:other:pay"),
        "my_pay": (Effect.ONCE, "mcp:third:pay"),
    }
    assert "key-of-the-server" in "".join(notes(tmp_path, "started"))
    assert "hidden" not in "".join(notes(tmp_path, "started")), "a server gets the variables that are given to it"


async def test_a_manifest_names_servers_and_starts_them_in_its_directory(tmp_path: Path, home: Path) -> None:
    manifest = tmp_path / "leadhand.toml"
    (tmp_path / "server.py").symlink_to(OURS)
    command = f"{sys.executable} server.py {tmp_path}"
    words = json.dumps(command.split())
    manifest.write_text(f'[mcp.rooms]\ncommand = {words}\ninclude = ["look"]\neffects = {{look = "idempotent"}}\n')
    async with Leadhand.of_project(manifest, model="offline", home=home) as lead:
        run = await lead.start("Anything", plan_only=True)
        specs = {each.name: each for each in run.state.definition.tools}
        await run.cancel()
    assert (specs["look"].origin, specs["look"].effect) == ("mcp:rooms", "idempotent")


@pytest.mark.parametrize(
    "table", ["", 'command = "x"\nurl = "http://x"', 'command = "x"\nunknown = 1', 'url = "ftp://x"'], ids=str
)
def test_a_table_that_is_no_server_is_an_error_with_its_line(tmp_path: Path, table: str) -> None:
    (tmp_path / "leadhand.toml").write_text(f"[mcp.rooms]\n{table}\n")
    with pytest.raises(ConfigurationError, match=r"leadhand.toml:\d"):
        load_project(tmp_path)
