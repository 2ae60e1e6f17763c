"""Checks the base URL of a server before anything is sent to it."""

from __future__ import annotations

from urllib.parse import urlsplit

from leadhand.domain.errors import ConfigurationError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared with, never bound to


def checked_base_url(url: str, *, setting: str = "the base URL") -> str:
    """``url`` as requests are built on it: no slash at the end, no ``/chat/completions`` that was pasted along.

    ``setting`` is what the person set, for the message. Raises :class:`ConfigurationError` for what is no HTTP address.
    """
    text = url.strip()
    how = "give an address such as http://127.0.0.1:11434/v1 or https://api.openai.com/v1"
    if not text:
        raise ConfigurationError(f"{setting} is empty", how)
    if any(character.isspace() or not character.isprintable() for character in text):
        raise ConfigurationError(f"{setting} holds blanks or control characters", how)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"{setting} {_shown(text)} is malformed: {error}", how) from None
    if parts.scheme not in ("http", "https"):
        raise ConfigurationError(f"{setting} {_shown(text)} does not begin with http:// or https://", how)
    if not host or port == 0:
        raise ConfigurationError(f"{setting} {_shown(text)} names no {'port' if host else 'host'} to connect to", how)
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"{setting} holds a user name or password, which would show up in logs",
            "put the key in the environment variable of the provider instead, for example OPENAI_API_KEY",
        )
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{setting} {_shown(text)} has a query or fragment", how)
    return text.rstrip("/").removesuffix("/chat/completions").rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether ``url`` points at this machine: no proxy belongs in between, and nobody sends a bill."""
    host = urlsplit(url).hostname or ""
    return host in _LOOPBACK or host.startswith("127.")


def _shown(url: str) -> str:
    """The URL for a message, without what stands before an @ in it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return repr(url.rpartition("@")[2][:200])
    return repr(f"{scheme}://{rest.rpartition('@')[2]}"[:200])
