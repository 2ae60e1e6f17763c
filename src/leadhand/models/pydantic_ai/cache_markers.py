"""Choose the parts of a prompt that a provider is asked to cache: those that are long enough and sent repeatedly.

Anthropic, also on Bedrock, caches only what a request marks, for five minutes. Writing to the cache costs more than
other input. Therefore, a part is marked from the second call on, and of parallel calls only one writes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import takewhile

from leadhand.core.conversation import AssistantMessage, SystemMessage
from leadhand.models.prices import known_profile
from leadhand.ports.models import ModelRequest, input_bound

_SETTINGS = {"anthropic": "anthropic_cache", "bedrock": "bedrock_cache"}
"""How the names of pydantic-ai's settings begin."""
SHORTEST = 4_000
"""Bytes of the shortest part that is marked: about 1,000 tokens, below which providers do not cache."""
CACHED_FOR_S = 300.0
LONG_CONVERSATION = 2
"""Replies in a conversation after which another one is likely."""
MOST_REMEMBERED = 256


class CacheMarkers:
    """The markers of one provider. ``clock`` returns seconds."""

    def __init__(self, provider: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = _SETTINGS.get(provider)
        self._clock = clock
        self._answered: dict[int, tuple[float, bool]] = {}
        """For the beginnings of prompts, by hash: when a call was last answered, and whether the cache has them."""
        self._writing: set[int] = set()

    @contextmanager
    def marking(self, request: ModelRequest) -> Generator[dict[str, bool]]:
        """Yield the settings of pydantic-ai that mark ``request``, around the call.

        A model without a known price of cache writes is not marked, because its cost could not be reserved.
        """
        profile = known_profile(request.model) if self._settings else None
        if profile is None or profile.cache_write_nanousd is None:
            yield {}
            return
        parts = _beginnings(request)
        cached = {key for key in parts.values() if self._is_cached(key)}
        writes = {key for key in parts.values() if self._is_cached(key) is False} - self._writing
        self._writing |= writes
        marked = [part for part, key in parts.items() if key in cached | writes]
        try:
            yield {f"{self._settings}_{part}": True for part in (*marked, *(["messages"] if _goes_on(request) else []))}
            for part, key in parts.items():
                is_cached = part in marked or bool(self._is_cached(key))
                self._answered.pop(key, None)
                self._answered[key] = self._clock(), is_cached
            while len(self._answered) > MOST_REMEMBERED:
                del self._answered[next(iter(self._answered))]
        finally:
            self._writing -= writes

    def _is_cached(self, key: int) -> bool | None:
        """Whether the cache contains a part; None if no call with this part was answered lately."""
        at, is_cached = self._answered.get(key, (float("-inf"), False))
        return is_cached if self._clock() - at < CACHED_FOR_S else None


def _beginnings(request: ModelRequest) -> dict[str, int]:
    """Return the hashes of the long parts with which the prompt begins: its tools, and these with the instructions."""
    system = tuple(takewhile(lambda message: isinstance(message, SystemMessage), request.messages))
    tools = input_bound((), request.tools, request.output)
    sizes = {"tool_definitions": tools, "instructions": tools + input_bound(system, (), None)}
    before = f"{request.model} {request.tools} {request.output}"
    hashes = {"tool_definitions": hash(before), "instructions": hash(f"{before} {system}")}
    return {part: hashes[part] for part, size in sizes.items() if size >= SHORTEST}


def _goes_on(request: ModelRequest) -> bool:
    """Whether the next turn will probably send this whole conversation again."""
    replies = sum(isinstance(message, AssistantMessage) for message in request.messages)
    long = input_bound(request.messages, request.tools, request.output) >= SHORTEST
    return bool(request.tools) and replies >= LONG_CONVERSATION and long
