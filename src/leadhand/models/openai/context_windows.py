"""Query a server for the context window of a model, in tokens; each kind of server has its own route.

This is the window that the server was started with: it refuses longer prompts or, as Ollama does, truncates them.
"""

from __future__ import annotations

import asyncio
import re
from urllib.parse import quote

from leadhand.domain.value import object_of, objects_of, text_of
from leadhand.ports import ModelError

from .http import ChatServer

WITHIN_S = 1.0
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""vLLM; OpenRouter and Together; Groq; Mistral."""

_OWNERS = {"library": "ollama", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
"""The owners of models in a list that identify the kind of server."""


async def window_of(server: ChatServer, model: str, provider: str) -> int | None:
    """The window of ``model`` that its server reports within a second, else None. Never raises.

    ``provider`` is our name for the server.
    """
    try:
        async with asyncio.timeout(WITHIN_S):
            return await _window(server, model, provider)
    except (ModelError, TimeoutError):
        return None


async def _window(server: ChatServer, model: str, provider: str) -> int | None:
    listed = object_of(next((each for each in await server.models() if each.get("id") == model), None))
    for field in _LISTED:
        if (window := _tokens(listed.get(field))) is not None:
            return window
    root = server.at.base_url.removesuffix("/v1")
    match _OWNERS.get(text_of(listed.get("owned_by")), provider):
        case "ollama":
            return await _ollama(server, root, model)
        case "llamacpp":
            props = await server.fetch_json(f"{root}/props")
            return _tokens(object_of(props.get("default_generation_settings")).get("n_ctx"))
        case "lmstudio":
            loaded = await server.fetch_json(f"{root}/api/v0/models/{quote(model, safe='/')}")
            return _tokens(loaded.get("loaded_context_length"))
        case _:
            return None


async def _ollama(server: ChatServer, root: str, model: str) -> int | None:
    """The window that the model's own file sets, else the loaded one; the training length is not what is served."""
    shown = await server.fetch_json(f"{root}/api/show", {"model": model})
    said = re.search(r"^\s*num_ctx\s+(\d+)", text_of(shown.get("parameters")), re.MULTILINE)
    if said is not None:
        return _tokens(int(said[1]))
    running = objects_of((await server.fetch_json(f"{root}/api/ps")).get("models"))
    names = {model, f"{model}:latest"}
    loaded = [each for each in running if each.get("name") in names or each.get("model") in names]
    return _tokens(loaded[0].get("context_length")) if loaded else None


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
