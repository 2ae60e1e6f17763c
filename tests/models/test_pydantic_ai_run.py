"""Whole runs on such models, what is imported when, and what is said when something is not there."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from asking import asking
from native_servers import MODELS, SERVERS, answered_by

from leadhand import ConfigurationError, Leadhand, RunStatus, tool
from leadhand.core.errors import FailureClass
from leadhand.models.detection import detect_model
from leadhand.models.offline import OfflineModels
from leadhand.models.providers import BY_KEY, OWN_PROTOCOLS, PROVIDERS
from leadhand.models.pydantic_ai import connection
from leadhand.models.pydantic_ai.client import PydanticAI
from leadhand.models.pydantic_ai.connection import Connection, Service
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError

QUESTION = "What's the weather in Paris tomorrow, and how do I get from the Louvre to Orly airport?"


@tool
def weather_tool(location: str, day: str) -> str:
    """The weather at a place."""
    return f"{location}, {day}: rain"


@tool
def directions_tool(origin: str, destination: str, mode: str) -> str:
    """The way between two places."""
    return f"{mode} from {origin} to {destination}"


@pytest.mark.parametrize("name", SERVERS)
async def test_a_run_is_led_worked_and_composed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SERVERS[name](answered_by(OfflineModels())).running() as server:
        for variable, value in server.env.items():
            monkeypatch.setenv(variable, value)
        async with Leadhand(model=MODELS[name], tools=[weather_tool, directions_tool], home=tmp_path / "home") as lead:
            answer = await lead.run(QUESTION)
        assert len(server.bodies) >= 2
    assert answer.status is RunStatus.SUCCEEDED
    assert "Paris" in answer.text
    assert answer.document["model"] == MODELS[name]
    assert answer.document["usage"]["requests"] == len(server.bodies)
    assert answer.document["usage"]["cost_usd"] > 0


def test_nothing_of_it_is_imported_before_it_is_asked() -> None:
    program = (
        "import sys, leadhand\n"
        "from leadhand.models.router import ModelRouter\n"
        "router = ModelRouter(env={'ANTHROPIC_API_KEY': 'k'})\n"
        "router.check('anthropic:claude-haiku-5-5')\n"
        "assert router.profile('anthropic:claude-haiku-5-5').window\n"
        "print([m for m in ('pydantic_ai', 'anthropic', 'httpx2', 'google.genai', 'boto3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # The table of prices brings httpx2 along, which it fetches newer prices with if asked to.
    assert done.stdout.strip() in ("[]", "['httpx2']")


@pytest.mark.parametrize("name", OWN_PROTOCOLS)
def test_a_missing_extra_is_said_with_the_command_that_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda module: None)
    provider = OWN_PROTOCOLS[name]
    with pytest.raises(ConfigurationError) as caught:
        ModelRouter(env={provider.key_variables[0]: "k"}).check(f"{name}:m")
    assert caught.value.exit_code == 6
    assert provider.title in caught.value.what
    assert f"leadhand[{provider.extra}]" in caught.value.how
    assert "\n" not in caught.value.what + caught.value.how


async def test_packages_that_do_not_fit_together_are_a_classed_failure() -> None:
    def broken(connection: Connection) -> Service:
        raise ImportError("cannot import name 'x'")

    client = PydanticAI(Connection(provider="anthropic", title="Anthropic"), opening=broken)
    with pytest.raises(ModelError) as caught:
        await client.ask(asking("x", model="anthropic:m"))
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.UNAVAILABLE, "missing_extra")


async def test_a_key_counts_only_where_its_extra_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(url: str) -> str | None:
        return None

    for variable, name in (("ANTHROPIC_API_KEY", "anthropic"), ("GEMINI_API_KEY", "google")):
        chosen = await detect_model({variable: "sk-secret"}, nobody)
        assert chosen.name == MODELS[name]
        assert variable in chosen.why
        assert "sk-secret" not in chosen.why
    monkeypatch.setattr(connection, "find_spec", lambda module: None)
    passed_over = await detect_model({"ANTHROPIC_API_KEY": "sk-secret", "GROQ_API_KEY": "k"}, nobody)
    assert passed_over.name.startswith("groq:")
    assert "ANTHROPIC_API_KEY" in passed_over.why
    assert "leadhand[anthropic]" in passed_over.why


# Older releases know other names; the next test is about the one that our constraints name.
OLDER = tuple(int(number) for number in version("pydantic-ai-slim").split(".")[:2]) < (2, 68)


@pytest.mark.skipif(OLDER, reason="the names of an older release")
def test_what_is_taken_and_recommended_is_known_to_the_installed_packages() -> None:
    from pydantic_ai.models import known_model_names

    known = set(known_model_names())
    names = {f"{own.name}:{own.default_model}" for own in OWN_PROTOCOLS.values()}
    assert names <= known
    assert {*BY_KEY} <= {*PROVIDERS, *OWN_PROTOCOLS}
