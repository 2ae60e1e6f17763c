"""The form in which a server is sent a request: that of its provider, or the plain one if it refuses that."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Form(NamedTuple):
    """What a request may use: a ``schema`` for a structured answer, ``tools``, a ``stream`` with its ``stream_usage``.

    Without one of the first two, the request says it in words. ``token_limit`` is the field that limits an answer.
    """

    schema: bool = True
    tools: bool = True
    stream: bool = True
    stream_usage: bool = True
    token_limit: str = "max_tokens"

    @property
    def plain(self) -> Form:
        """The form that every server understands: text only."""
        return self._replace(schema=False, tools=False, stream=False)


_BY_DOMAIN = {
    "openai.com": Form(token_limit="max_completion_tokens"),
    "azure.com": Form(token_limit="max_completion_tokens"),
    "deepseek.com": Form(schema=False),  # https://api-docs.deepseek.com/guides/json_mode
    "mistral.ai": Form(stream_usage=False),  # its streams always end with the usage, and it refuses the option
}
"""The providers whose servers differ from the others."""

REFUSALS = frozenset({"http_400", "http_415", "http_422", "http_501"})
"""Types of failures that may refuse the form of a request: the server named no other cause."""


def form_of(base_url: str) -> Form:
    """Return the form of the provider at an address; that of most servers if it is unknown."""
    host = urlsplit(base_url).hostname or ""
    return _BY_DOMAIN.get(".".join(host.split(".")[-2:]), Form())
