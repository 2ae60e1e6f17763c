"""Choose a model if none is named: by a key in the environment, else a local Ollama, else the offline model.

Imports nothing heavy, because it runs at every cold start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from leadhand.core.errors import ConfigurationError
from leadhand.ports import ModelError

from .providers import ANY_SERVER, BY_KEY, OWN_PROTOCOLS, PROVIDERS, ollama_url

PROBE_TIMEOUT_S = 0.4

Probe = Callable[[str], Awaitable[str | None]]
"""Asks the server at a base URL for its first model; None if there is no server or no model."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen model, and a short reason for people."""

    name: str
    why: str


async def detect_model(env: Mapping[str, str], probe: Probe | None = None) -> Choice:
    """Choose the model of a run that names none.

    In this order: ``LEADHAND_MODEL``; the first model of the server at ``LEADHAND_BASE_URL`` or ``OPENAI_BASE_URL``;
    the first provider whose key is set; the first model of a local Ollama; ``offline``. ``why`` names what was skipped.

    Raises :class:`ConfigurationError` if an address is set but lists no model: a key or the offline model would be a
    surprise.
    """
    if env.get("LEADHAND_MODEL"):
        return Choice(env["LEADHAND_MODEL"], "LEADHAND_MODEL is set")
    if variable := ANY_SERVER.url_variable(env):
        model = await _named_server(env, variable, probe)
        return Choice(f"openai_compatible:{model}", f"{variable} is set, and this is the first model there")
    skipped: list[str] = []
    choice = _by_key(env, skipped)
    if choice is None and (model := await (probe or first_model)(url := ollama_url(env))) is not None:
        choice = Choice(f"ollama:{model}", f"Ollama runs at {url}, and this is its first model")
    if choice is None:
        nothing = "no other key is set" if skipped else "no provider key is set"
        choice = Choice("offline", f"{nothing} and no Ollama answers: the built-in rule-based model")
    return replace(choice, why="; ".join([*skipped, choice.why]))


async def _named_server(env: Mapping[str, str], variable: str, probe: Probe | None) -> str:
    """Return the first model of the server that the user set. Raises ConfigurationError if it lists none.

    It is queried with the same key, proxies and certificates as in a run.
    """
    from .router import ModelRouter  # a run on a server needs the HTTP client anyway

    what, how = "", "load a model there"
    try:
        async with aclosing(ModelRouter(env=env)) as router:
            models = await router.models() if probe is None else [await probe(env[variable])]
    except ModelError as error:
        models, what, how = [], f": {error.failure.message}", error.failure.next_action
    if models and models[0]:
        return models[0]
    raise ConfigurationError(
        f"{variable} is set, but the server lists no model{what}",
        f"{how}; or name one with --model openai_compatible:NAME, or unset {variable}",
    )


def _by_key(env: Mapping[str, str], skipped: list[str]) -> Choice | None:
    """The default model of the first provider whose key is set; adds unusable keys to ``skipped``."""
    from .pydantic_ai.connection import command, is_installed

    for name in BY_KEY:
        provider = OWN_PROTOCOLS.get(name) or PROVIDERS[name]
        variable = provider.key_variable(env)
        if variable and provider.extra and not is_installed(provider):
            skipped.append(f"{variable} is set, but {provider.title} needs an extra: {command(provider)}")
        elif variable:
            return Choice(f"{name}:{provider.default_model}", f"{variable} is set; name another with --model")
    return None


async def first_model(base_url: str) -> str | None:
    """The first model that ``GET {base_url}/models`` lists, within 0.4 s; None for anything else.

    Without a server, no HTTP client is imported.
    """
    if not await listens(base_url, PROBE_TIMEOUT_S):
        return None
    from .openai.adapter import OpenAICompatible

    try:
        async with aclosing(OpenAICompatible(base_url)) as server:
            return (await server.models(within_s=PROBE_TIMEOUT_S) or [None])[0]
    except (ConfigurationError, ModelError):
        return None


async def listens(address: str, within_s: float) -> bool:
    """Whether a server accepts connections at an address. Sends nothing."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname or "", port), within_s)
    except (OSError, ValueError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
