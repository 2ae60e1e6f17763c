"""Names lead to adapters, and a name that leads nowhere says what to do instead."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from asking import asking

from leadhand.app.runtime.model_selection import NamedModels
from leadhand.app.settings import settings
from leadhand.core.errors import ConfigurationError, FailureClass
from leadhand.core.limits import Usage
from leadhand.models.detection import detect_model
from leadhand.models.offline import OfflineModels
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.models.prices import known_cost, known_profile, reasons
from leadhand.models.providers import OWN_PROTOCOLS, PROVIDERS
from leadhand.models.pydantic_ai.client import PydanticAI
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile
from leadhand.testing.faults import status
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


async def test_ollama_is_asked_where_it_was_found() -> None:
    async with ScriptedServer(["from there"], models=["llama3.1"]) as server:
        env = {"OLLAMA_HOST": server.base_url.removeprefix("http://").removesuffix("/v1")}
        chosen = await detect_model(env)
        async with aclosing(ModelRouter(env=env)) as router:
            reply = await router.ask(asking({"task": "compose"}, model=chosen.name))
            assert router.profile(chosen.name).free
    assert (chosen.name, reply.message.text) == ("ollama:llama3.1", "from there")
    assert not ModelRouter(env={"OLLAMA_HOST": "gpu-box"}).profile("ollama:llama3.1").free


def test_any_server_is_named_by_its_address() -> None:
    for variable in ("LEADHAND_BASE_URL", "OPENAI_BASE_URL"):
        adapter = ModelRouter(env={variable: "http://127.0.0.1:8000/v1"}).adapter("openai_compatible:x")
        assert isinstance(adapter, OpenAICompatible)
        assert adapter.base_url == "http://127.0.0.1:8000/v1"
    assert "LEADHAND_BASE_URL" in refusal("openai_compatible:x")
    assert "LEADHAND_BASE_URL" in refusal("openai_compatible:x", {"LEADHAND_BASE_URL": "nonsense"})


@pytest.mark.parametrize("model", ["foo", "foo:bar", "", ":", "offline:x"])
def test_an_unknown_name_lists_the_providers(model: str) -> None:
    assert all(f"{name}:" in refusal(model) for name in (*PROVIDERS, *OWN_PROTOCOLS))


@pytest.mark.parametrize("model", ["openai:", "ollama:", "openai_compatible:", "groq", "anthropic:", "bedrock"])
def test_a_provider_without_a_model_asks_for_one(model: str) -> None:
    what, how = refusal(model).splitlines()
    assert repr(model) in what
    assert how.count(f"{model.rstrip(':')}:") == 1


def test_a_provider_without_a_name_of_its_own_says_which_way_leads_there() -> None:
    said = refusal("azure:gpt-6-luna")
    assert "LEADHAND_BASE_URL" in said
    assert "openai_compatible:" in said


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai:gpt-6-luna", "OPENAI_API_KEY"),
        ("anthropic:claude-x", "ANTHROPIC_API_KEY"),
        ("claude:claude-x", "ANTHROPIC_API_KEY"),
        ("google:gemini-9", "GEMINI_API_KEY"),
        ("gemini:gemini-9", "GOOGLE_API_KEY"),
        ("google-vertex:gemini-9", "GOOGLE_CLOUD_PROJECT"),
        ("bedrock:x", "AWS_REGION"),
        ("huggingface:openai/gpt-oss-120b", "HF_TOKEN"),
    ],
)
def test_what_is_missing_is_named_by_its_variable(model: str, variable: str) -> None:
    assert variable in refusal(model, {"HOME": "/nonexistent"})


def test_a_provider_of_another_protocol_is_asked_through_its_own_package() -> None:
    router = ModelRouter(env={"ANTHROPIC_API_KEY": "sk-1", "AWS_REGION": "eu-west-1", "GOOGLE_CLOUD_PROJECT": "p"})
    adapter = router.adapter("anthropic:claude-haiku-5-5")
    assert isinstance(adapter, PydanticAI)
    assert adapter.connection.base_url == "https://api.anthropic.com"
    assert router.adapter("claude:claude-opus-5-5") is adapter
    assert "sk-1" not in repr(adapter.connection)
    assert isinstance(router.adapter("bedrock:global.amazon.nova-2-lite-v1:0"), PydanticAI)
    assert isinstance(router.adapter("google-vertex:gemini-3.5-flash-lite"), PydanticAI)


def test_a_malformed_address_is_refused_under_its_name() -> None:
    assert "ANTHROPIC_BASE_URL" in refusal("anthropic:x", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "nonsense"})


@pytest.mark.parametrize("key", ["sk-1\n", "sk-1\nsk-2", "sk 1", " sk-1", "sk-\u00e4", "\u201csk-1\u201d", "sk-1\x7f"])
@pytest.mark.parametrize("model", ["openai:gpt-6-luna", "anthropic:claude-haiku-5-5", "google:gemini-3.5-flash-lite"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(model: str, key: str) -> None:
    variables = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    said = refusal(model, dict.fromkeys(variables, key))
    assert "_API_KEY" in said
    assert key.strip() not in said


async def test_asking_for_a_name_that_leads_nowhere_is_a_classed_failure() -> None:
    with pytest.raises(ModelError) as caught:
        await ModelRouter(env={}).ask(TALK.evolve(model="anthropic:x"))
    assert caught.value.failure.class_ is FailureClass.UNAVAILABLE
    assert "ANTHROPIC_API_KEY" in caught.value.failure.next_action


async def test_an_adapter_put_in_by_name_comes_first() -> None:
    model = ScriptedModel([says("x"), says("y")])
    router = NamedModels(settings(), {"scripted": model})
    assert (await router.ask(TALK.evolve(model="scripted"))).message.text == "x"
    assert (await router.ask(TALK.evolve(model="scripted:anything"))).message.text == "y"
    assert router.profile("scripted") == ModelProfile(
        name="scripted", window=1_000_000, input_nanousd=0, output_nanousd=0, free=True
    )
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


def test_cached_input_has_a_price_of_its_own() -> None:
    pytest.importorskip("genai_prices")
    usage = Usage(input_tokens=1_000, output_tokens=100)
    full = known_cost("anthropic:claude-haiku-5-5", usage)
    cached = known_cost("anthropic:claude-haiku-5-5", usage.evolve(cached_tokens=900))
    written = known_cost("anthropic:claude-haiku-5-5", usage.evolve(cache_write_tokens=900))
    assert full is not None
    assert cached is not None
    assert written is not None
    assert 0 < cached < full < written


@pytest.mark.parametrize(
    "model",
    [f"{p.name}:{p.default_model}" for p in (*PROVIDERS.values(), *OWN_PROTOCOLS.values()) if p.default_model],
)
def test_every_default_model_has_a_known_price(model: str) -> None:
    pytest.importorskip("genai_prices")
    assert known_profile(model) is not None


@pytest.mark.parametrize(
    ("model", "address", "variable"),
    [
        ("openai_compatible:m", "LEADHAND_BASE_URL", "OPENAI_API_KEY"),
        ("groq:m", "GROQ_BASE_URL", "GROQ_API_KEY"),
        ("vllm:m", "VLLM_BASE_URL", "VLLM_API_KEY"),
        ("ollama:m", "OLLAMA_BASE_URL", "OPENAI_API_KEY"),
    ],
)
async def test_where_a_key_is_wanted_the_variable_to_set_is_named(model: str, address: str, variable: str) -> None:
    async with ScriptedServer([status(401)]) as server:
        router = ModelRouter(env={address: server.base_url})
        with pytest.raises(ModelError) as caught:
            await router.ask(asking({"task": "compose"}, model=model))
        await router.aclose()
    assert variable in caught.value.failure.next_action


@pytest.mark.parametrize(
    ("name", "effort", "window", "most"),
    [
        ("openai:gpt-4o", None, 128_000, 2_000),
        ("openai:gpt-6-luna", None, None, 10_000),
        ("openai:gpt-6-luna", "high", 400_000, 18_000),
        ("anthropic:claude-haiku-5-5", "low", 200_000, 10_000),
        ("ollama:qwen3:8b", None, 8_192, 3_024),
    ],
)
def test_reasoning_has_room_beside_the_answer(name: str, effort: str | None, window: int | None, most: int) -> None:
    profile = ModelProfile(name=name, window=window, reasons=reasons(name.partition(":")[2]))
    assert profile.with_reasoning(TALK.evolve(reasoning_effort=effort)).max_tokens == most
