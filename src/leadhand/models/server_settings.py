"""Check the settings of a server before anything is sent to it: base URL and key."""

from __future__ import annotations

from urllib.parse import urlsplit

from leadhand.core.errors import ConfigurationError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared with, never bound to


def checked_base_url(url: str, *, setting: str = "the base URL") -> str:
    """Return ``url`` without a trailing slash and without a pasted ``/chat/completions``.

    ``setting`` is the name of the setting, for messages. Raises :class:`ConfigurationError` unless it is an HTTP URL.
    """
    text = url.strip()
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        private = parts.username is not None or parts.password is not None
    except ValueError:
        parts, whole, private = urlsplit(""), False, "@" in text
    if private:
        raise ConfigurationError(
            f"{setting} contains a user name or password, which would appear in logs",
            "put the key in the environment variable of the provider instead, for example OPENAI_API_KEY",
        )
    if not whole or parts.query or parts.fragment or " " in text or not text.isprintable():
        raise ConfigurationError(
            f"{setting} {text.rpartition('@')[2][:200]!r} is not the http:// or https:// address of an API",
            "set an address such as http://127.0.0.1:11434/v1 or https://api.openai.com/v1",
        )
    return text.rstrip("/").removesuffix("/chat/completions").rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether ``url`` points to this machine, which needs no proxy and costs nothing."""
    host = urlsplit(url).hostname or ""
    return host in _LOOPBACK or host.startswith("127.")


def checked_key(key: str, setting: str) -> str:
    """Return ``key``, which may be empty. Raises :class:`ConfigurationError` if an HTTP header cannot carry it."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            f"{setting} contains line breaks, spaces or other invalid characters",
            "copy the key again from the provider's page, and set it without quotes, spaces or line breaks",
        )
    return key
