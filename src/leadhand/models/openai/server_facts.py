"""Query a server for what it says of a model: context window, parallel slots, tools. Each kind of server has its route.

The window is the one that the server was started with: it refuses longer prompts or, as Ollama does, truncates them.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple

from leadhand.core.errors import FailureClass
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.ports import ModelError

from .http import ChatServer

WITHIN_S = 5.0
"""Seconds for the server, which may be busy with a model."""
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
        async with asyncio.timeout(WITHIN_S):
            return await _facts(server, model, provider)
    except (ModelError, TimeoutError):
        return None


async def _facts(server: ChatServer, model: str, provider: str) -> Facts:
    models = await server.models(within_s=WITHIN_S)
    listed = object_of(next((each for each in models if each["id"] == model), None))
    if not listed and len(models) == 1 and models[0].get("owned_by") == "llamacpp":
        listed = models[0]  # it serves its only model under every name
    window = next(filter(None, (_count(listed.get(field)) for field in _LISTED)), None)
    if window is not None:
        return Facts(window)
    root = server.base_url.removesuffix("/v1")
    match _OWNERS.get(text_of(listed.get("owned_by")), provider):
        case "ollama":  # the window of the model's own file, else the loaded one, never that of the training
            shown = await _page(server, f"{root}/api/show", {"model": model})
            said = re.search(r"^\s*num_ctx\s+(\d+)", text_of(shown.get("parameters")), re.MULTILINE)
            if said is not None:
                return Facts(_count(int(said[1])))
            running = objects_of((await _page(server, f"{root}/api/ps")).get("models"))
            loaded = [each for each in running if each.get("name") in (model, f"{model}:latest")]
            return Facts(_count(loaded[0].get("context_length")) if loaded else None)
        case "llamacpp":
            props = await _page(server, f"{root}/props")
            window = _count(object_of(props.get("default_generation_settings")).get("n_ctx"))
            tools = object_of(props.get("chat_template_caps")).get("supports_tools") is not False
            return Facts(window, _count(props.get("total_slots")), tools)
        case "lmstudio":
            return Facts(_count((await _page(server, f"{root}/api/v0/models/{model}")).get("loaded_context_length")))
        case _:
            return Facts()


async def _page(server: ChatServer, url: str, body: object = None) -> dict[str, Any]:
    """A page of the server; {} where it has none."""
    try:
        return await server.fetch_json(url, body, within_s=WITHIN_S)
    except ModelError as error:
        if error.failure.class_ is FailureClass.TRANSIENT:
            raise
        return {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
