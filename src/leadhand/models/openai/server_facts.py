"""Query a server for what it says of a model: context window, parallel slots, tools. Each kind of server has its route.

The window is the one that the server was started with: it refuses longer prompts or, as Ollama does, truncates them.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import quote

from leadhand.core.errors import FailureClass
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.models.server_settings import is_loopback
from leadhand.ports import ModelError

from .http import ChatServer

WITHIN_S = 2.0
LOCAL_WITHIN_S = 5.0
"""Seconds for a server on this machine, which may be busy with a model."""
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""vLLM; OpenRouter and Together; Groq; Mistral."""

_OWNERS = {"library": "ollama", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
"""The owners of models in a list that identify the kind of server."""


class Facts(NamedTuple):
    """What a server says of a model: the ``window`` in tokens and the ``slots``, None if it does not say, and whether
    its chat template shows ``tools`` to the model."""

    window: int | None = None
    slots: int | None = None
    tools: bool = True


async def facts_of(server: ChatServer, model: str, provider: str) -> Facts | None:
    """What the server says of ``model`` within some seconds, None if it did not answer. Never raises.

    ``provider`` is our name for the server.
    """
    import aiohttp as aiohttp  # before the timer starts: the first import takes long on a busy machine

    try:
        async with asyncio.timeout(LOCAL_WITHIN_S if is_loopback(server.at.base_url) else WITHIN_S):
            return await _facts(server, model, provider)
    except (ModelError, TimeoutError):
        return None


async def _facts(server: ChatServer, model: str, provider: str) -> Facts:
    models = await server.models(within_s=LOCAL_WITHIN_S)
    listed = object_of(next((each for each in models if each.get("id") == model), None))
    if not listed and len(models) == 1 and models[0].get("owned_by") == "llamacpp":
        listed = models[0]  # it serves its only model under every name
    for field in _LISTED:
        if (window := _tokens(listed.get(field))) is not None:
            return Facts(window)
    root = server.at.base_url.removesuffix("/v1")
    match _OWNERS.get(text_of(listed.get("owned_by")), provider):
        case "ollama":
            return await _ollama(server, root, model)
        case "llamacpp":
            props = await _page(server, f"{root}/props")
            window = _tokens(object_of(props.get("default_generation_settings")).get("n_ctx"))
            tools = object_of(props.get("chat_template_caps")).get("supports_tools") is not False
            return Facts(window, _tokens(props.get("total_slots")), tools)
        case "lmstudio":
            loaded = await _page(server, f"{root}/api/v0/models/{quote(model, safe='/')}")
            return Facts(_tokens(loaded.get("loaded_context_length")))
        case _:
            return Facts()


async def _page(server: ChatServer, url: str, body: object = None) -> dict[str, Any]:
    """A page of the server; {} where it has none."""
    try:
        return await server.fetch_json(url, body, within_s=LOCAL_WITHIN_S)
    except ModelError as error:
        if error.failure.class_ is FailureClass.TRANSIENT:
            raise
        return {}


async def _ollama(server: ChatServer, root: str, model: str) -> Facts:
    """The window that the model's own file sets, else the loaded one; the training length is not what is served."""
    shown = await _page(server, f"{root}/api/show", {"model": model})
    able = list_of(shown.get("capabilities"))
    tools = not able or "tools" in able
    said = re.search(r"^\s*num_ctx\s+(\d+)", text_of(shown.get("parameters")), re.MULTILINE)
    if said is not None:
        return Facts(_tokens(int(said[1])), tools=tools)
    running = objects_of((await _page(server, f"{root}/api/ps")).get("models"))
    names = {model, f"{model}:latest"}
    loaded = [each for each in running if each.get("name") in names or each.get("model") in names]
    return Facts(_tokens(loaded[0].get("context_length")) if loaded else None, tools=tools)


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
