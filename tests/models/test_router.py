"""Names lead to adapters, and a name that leads nowhere says what to do instead."""

from __future__ import annotations

import pytest
from asking import asking

from leadhand.domain.conversation import ModelProfile
from leadhand.domain.errors import ConfigurationError, FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.offline import OfflineModels
from leadhand.models.openai_compatible import OpenAICompatible
from leadhand.models.prices import known_cost, known_profile
from leadhand.models.providers import PROVIDERS, RETIRED
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, says

TALK = asking({"task": "compose"})


def refusal(model: str, env: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        ModelRouter(env=env or {}).check(model)
    what, how = str(caught.value).split("\n")
    assert what
    assert how
    return f"{what}\n{how}"


def test_offline_needs_nothing() -> None:
    router = ModelRouter(env={})
    assert isinstance(router.adapter("offline"), OfflineModels)
    assert router.adapter("offline") is router.adapter(" OFFLINE ")
    assert router.profile("offline").free


def test_a_provider_is_asked_at_its_address_with_its_key() -> None:
    router = ModelRouter(env={"GROQ_API_KEY": "gsk-1"})
    adapter = router.adapter("groq:openai/gpt-oss-120b")
    assert isinstance(adapter, OpenAICompatible)
    assert adapter.base_url == "https://api.groq.com/openai/v1"
    assert adapter.name == "groq"
    assert router.adapter("groq:another") is adapter


def test_a_provider_can_be_moved() -> None:
    adapter = ModelRouter(env={"OLLAMA_BASE_URL": "http://box:11434/v1/"}).adapter("ollama:llama3.1")
    assert isinstance(adapter, OpenAICompatible)
    assert adapter.base_url == "http://box:11434/v1"


def test_any_server_is_named_by_its_address() -> None:
    for variable in ("LEADHAND_BASE_URL", "OPENAI_BASE_URL"):
        adapter = ModelRouter(env={variable: "http://127.0.0.1:8000/v1"}).adapter("openai_compatible:x")
        assert isinstance(adapter, OpenAICompatible)
        assert adapter.base_url == "http://127.0.0.1:8000/v1"
    assert "LEADHAND_BASE_URL" in refusal("openai_compatible:x")
    assert "LEADHAND_BASE_URL" in refusal("openai_compatible:x", {"LEADHAND_BASE_URL": "nonsense"})


def test_a_missing_key_names_the_variable() -> None:
    assert "OPENAI_API_KEY is not set" in refusal("openai:gpt-6-luna")


@pytest.mark.parametrize("model", ["foo", "foo:bar", "", ":", "offline:x"])
def test_an_unknown_name_lists_the_providers(model: str) -> None:
    assert all(f"{name}:" in refusal(model) for name in PROVIDERS)


@pytest.mark.parametrize("model", ["openai:", "ollama:", "openai_compatible:", "groq"])
def test_a_provider_without_a_model_asks_for_one(model: str) -> None:
    assert "names a provider but no model" in refusal(model)


@pytest.mark.parametrize("model", ["anthropic:claude-x", "google:gemini-9", "gemini:x", "bedrock:x", "claude:x"])
def test_a_provider_of_another_protocol_says_which_way_leads_there(model: str) -> None:
    said = refusal(model)
    assert "not supported in this release" in said
    assert "--model openrouter:" in said


def test_a_retired_model_says_what_to_use_instead() -> None:
    assert "--model openrouter:google/gemini-3.5-flash-lite" in refusal("google:gemini-1.5-flash")
    assert "--model openai:gpt-5.6-sol" in refusal("openai:gpt-4", {"OPENAI_API_KEY": "sk-1"})


def test_a_retired_model_may_live_on_elsewhere() -> None:
    ModelRouter(env={"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "https://proxy.example/v1"}).check("openai:gpt-4")


def test_what_is_recommended_is_not_retired_itself() -> None:
    assert not set(RETIRED.values()) & set(RETIRED)
    for instead in RETIRED.values():
        assert instead.partition(":")[0] in PROVIDERS
    defaults = {f"{provider.name}:{provider.default_model}" for provider in PROVIDERS.values()}
    assert not defaults & set(RETIRED)


async def test_asking_for_a_name_that_leads_nowhere_is_a_classed_failure() -> None:
    with pytest.raises(ModelError) as caught:
        await ModelRouter(env={}).ask(TALK.evolve(model="anthropic:x"))
    assert caught.value.failure.class_ is FailureClass.UNAVAILABLE
    assert "openrouter" in caught.value.failure.next_action


async def test_an_adapter_put_in_by_name_comes_first_and_is_left_open() -> None:
    model = ScriptedModel([says("x"), says("y")])
    router = ModelRouter(env={}, adapters={"scripted": model})
    assert (await router.ask(TALK.evolve(model="scripted"))).message.text == "x"
    assert (await router.ask(TALK.evolve(model="scripted:anything"))).message.text == "y"
    assert router.profile("scripted") == ModelProfile(
        name="scripted", window=1_000_000, input_nanousd=0, output_nanousd=0, free=True
    )
    await router.aclose()


async def test_closing_closes_what_was_made() -> None:
    async with ScriptedServer([says("x")]) as server:
        router = ModelRouter(env={"VLLM_BASE_URL": server.base_url})
        assert (await router.ask(TALK.evolve(model="vllm:m"))).message.text == "x"
        await router.aclose()


def test_known_models_have_a_window_and_prices() -> None:
    pytest.importorskip("genai_prices")
    profile = known_profile("openai:gpt-6-luna")
    assert profile is not None
    assert profile.input_nanousd
    assert profile.output_nanousd
    cost = known_cost("openai:gpt-6-luna", Usage(input_tokens=1_000, output_tokens=100))
    assert cost is not None
    assert 0 < cost <= 1_000 * profile.input_nanousd + 100 * profile.output_nanousd
    assert known_profile("openai:no-such-model") is None
    assert known_cost("nobody:x", Usage()) is None


@pytest.mark.parametrize("name", [p.name for p in PROVIDERS.values() if p.default_model])
def test_every_default_model_has_a_known_price(name: str) -> None:
    pytest.importorskip("genai_prices")
    assert known_profile(f"{name}:{PROVIDERS[name].default_model}") is not None
