"""The form in which a server is sent a request: that of its provider, and a fallback for what it refuses or ignores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from leadhand.ports.models import ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a request may use: a ``schema`` for a structured answer, ``tools``, a ``stream``, a ``system`` message.

    Without one of the first two, the request says it in words; without the last, instructions begin the first message
    of the user. ``token_limit`` is the field that limits an answer.
    """

    schema: bool = True
    tools: bool = True
    stream: bool = True
    system: bool = True
    token_limit: str = "max_tokens"


_BY_DOMAIN = {
    "openai.com": Abilities(token_limit="max_completion_tokens"),
    "azure.com": Abilities(token_limit="max_completion_tokens"),
    "deepseek.com": Abilities(schema=False),
}
"""The providers whose servers differ from the others; https://api-docs.deepseek.com/guides/json_mode."""

_REFUSALS = frozenset({"http_400", "http_415", "http_422", "http_501"})
"""Types of failures that may refuse the form of a request: the server named no other cause."""


def abilities_of(base_url: str) -> Abilities:
    """Return what the server at an address can do, as far as its provider is known."""
    host = urlsplit(base_url).hostname or ""
    return _BY_DOMAIN.get(".".join(host.split(".")[-2:]), Abilities())


def may_refuse_form(type: str) -> bool:
    """Whether a failure of this type can be about the form of a request."""
    return type in _REFUSALS


def fallback(abilities: Abilities, request: ModelRequest, *, streamed: bool) -> Abilities | None:
    """Return the form without anything that a refused request used; None if it was the simplest already."""
    plain = replace(
        abilities,
        schema=abilities.schema and request.output is None,
        tools=abilities.tools and not request.tools,
        stream=abilities.stream and not streamed,
        system=False,
    )
    return None if plain == abilities else plain
