"""Choose a model if none is named: by a key in the environment, else a local Ollama, else the offline model.

Imports nothing heavy, because it runs at every cold start.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from leadhand.core.errors import ConfigurationError
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.ports import ModelError

from .providers import ANY_SERVER, BY_KEY, OWN_PROTOCOLS, PROVIDERS, OwnProtocol, ollama_url
from .server_settings import checked_base_url

PROBE_TIMEOUT_S = 0.4
_LARGEST_LIST = 1_000_000

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

    Raises :class:`ConfigurationError` if an address is set but lists no model: for ``LEADHAND_BASE_URL`` always, for
    ``OPENAI_BASE_URL``, which other programs use too, instead of falling back to the offline model.
    """
    if env.get("LEADHAND_MODEL"):
        return Choice(env["LEADHAND_MODEL"], "LEADHAND_MODEL is set")
    passed_over: list[str] = []
    unlisted: ConfigurationError | None = None
    if variable := ANY_SERVER.url_variable(env):
        try:
            model = await _named_server(env, variable, probe)
            return Choice(f"openai_compatible:{model}", f"{variable} is set, and this is the first model there")
        except ConfigurationError as error:
            if variable == "LEADHAND_BASE_URL":
                raise
            unlisted = error
            passed_over.append(error.what)
    probe = probe or first_model
    choice = _by_key(env, passed_over)
    if choice is None and (model := await probe(url := ollama_url(env))) is not None:
        choice = Choice(f"ollama:{model}", f"Ollama runs at {url}, and this is its first model")
    if choice is None and unlisted is not None:
        raise unlisted
    if choice is None:
        nothing = "no other key is set" if passed_over else "no provider key is set"
        choice = Choice("offline", f"{nothing} and no Ollama answers: the built-in rule-based model")
    return replace(choice, why="; ".join([*passed_over, choice.why]))


async def _named_server(env: Mapping[str, str], variable: str, probe: Probe | None) -> str:
    """Return the first model of the server that the user set. Raises ConfigurationError if it lists none.

    It is queried with the same key, proxies and certificates as in a run.
    """
    from .router import ModelRouter  # a run on a server needs the HTTP client anyway

    instead = f"name one with --model openai_compatible:NAME, or unset {variable}"
    try:
        async with aclosing(ModelRouter(env=env)) as router:
            models = await router.models() if probe is None else [await probe(env[variable])]
    except ModelError as error:
        failure = error.failure
        how = "fix the base URL" if failure.type == "unknown_model" else failure.next_action
        raise ConfigurationError(
            f"{variable} is set, but the server does not list its models: {failure.message}",
            f"{how or 'check the server at this address'}; or {instead}",
        ) from None
    if not models or not models[0]:
        raise ConfigurationError(f"{variable} is set, but the server lists no model", f"load a model there, {instead}")
    return models[0]


def _by_key(env: Mapping[str, str], passed_over: list[str]) -> Choice | None:
    """The default model of the first provider whose key is set; adds unusable keys to ``passed_over``."""
    for name in BY_KEY:
        own = OWN_PROTOCOLS.get(name)
        provider = own or PROVIDERS[name]
        variable = provider.key_variable(env)
        if not variable:
            continue
        if own is not None:
            from .pydantic_ai.connection import command, is_installed

            if not is_installed(own):
                passed_over.append(f"{variable} is set, but {own.title} needs an extra: {command(own)}")
                continue
        elif provider.url_variable(env) in ANY_SERVER.url_variables:
            continue  # the key belongs to the server that was just queried
        return Choice(f"{name}:{provider.default_model}", f"{variable} is set; name another with --model")
    return None


def keys_without_extra(env: Mapping[str, str]) -> list[OwnProtocol]:
    """The providers whose key is set but whose extra is missing."""
    from .pydantic_ai.connection import is_installed

    with_key = (OWN_PROTOCOLS[name] for name in BY_KEY if name in OWN_PROTOCOLS)
    return [own for own in with_key if own.key_variable(env) and not is_installed(own)]


async def first_model(base_url: str) -> str | None:
    """The first model that ``GET {base_url}/models`` lists, within 0.4 s; None for anything else.

    Uses bare streams: loopback needs no proxy, and this avoids importing an HTTP client at a cold start.
    """
    try:
        url = checked_base_url(base_url)
        body = await asyncio.wait_for(_get(f"{url}/models"), PROBE_TIMEOUT_S)
        listed = objects_of(object_of(json.loads(body)).get("data"))
    except (ConfigurationError, OSError, ValueError, TimeoutError):
        return None
    return next((name for name in (text_of(model.get("id")) for model in listed) if name), None)


async def _get(url: str) -> bytes:
    """The body of a 200 answer. Raises OSError or ValueError for anything else."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(host, parts.port or (443 if secure else 80), ssl=secure or None)
    try:
        # HTTP/1.0: the server closes the connection when done, and sends no chunks.
        request = f"GET {parts.path} HTTP/1.0\r\nHost: {parts.netloc}\r\nAccept: application/json\r\n\r\n"
        writer.write(request.encode())
        await writer.drain()
        answer = b""
        while len(answer) < _LARGEST_LIST and (more := await reader.read(_LARGEST_LIST)):
            answer += more
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise ValueError("no list of models")
    return body
