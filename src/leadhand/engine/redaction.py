"""Secrets never reach the log: known values, tell-tale patterns and names are redacted before an append."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, TypeVar, cast

from leadhand.domain.value import Json, Value

REDACTED = "[redacted]"
SECRET_NAME = re.compile(
    r"(api[-_]?key|authorization|password|passwd|secret|access[-_]?token|refresh[-_]?token|private[-_]?key)$",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$")
_PATTERNS = (
    r"sk-[A-Za-z0-9_\-]{16,}",  # OpenAI, Anthropic, OpenRouter
    r"gsk_[A-Za-z0-9]{20,}",  # Groq
    r"AIza[0-9A-Za-z_\-]{30,}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    r"AKIA[0-9A-Z]{16}",  # AWS
    r"xox[abprs]-[A-Za-z0-9\-]{10,}",  # Slack
    r"lh_[A-Za-z0-9_\-]{30,}",  # Leadhand's own
    r"(?i:bearer)\s+[A-Za-z0-9._~+/\-]{16,}=*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
)
_MARKS = (
    *("sk-", "gsk_", "aiza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "akia", "xox", "lh_", "bearer", "private key"),
    *("apikey", "api_key", "api-key", "authorization", "passw", "secret"),
    *("accesstoken", "access_token", "access-token", "refreshtoken", "refresh_token", "refresh-token"),
    *("privatekey", "private_key", "private-key"),
)
"""In lower case: what any text that the patterns or the names match must hold; no field of an event is called so."""

_BEGUN_KEY = re.compile(r"-----BEGIN (?:[A-Z ]*PRIVATE KEY-----|[A-Z ]*\Z)")
"""A private key that is still in a text without secrets: its end has not been written yet."""
_SPACE = re.compile(r"\s")

SHORTEST_SECRET = 8
"""Known values shorter than this, in characters, are not searched for: they would redact ordinary words."""

_V = TypeVar("_V", bound=Value)


class Redactor:
    """Redacts secrets in values: those given (exact text), those that look like one, and fields named like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True)
        self._of_words = [secret for secret in known if _SPACE.search(secret)]
        self._secret = re.compile("|".join([*(re.escape(secret) for secret in known), *_PATTERNS]))
        # Known values are looked for at every place, each pattern by itself: what one match ends in may begin another.
        values = "|".join(re.escape(secret) for secret in known)
        self._each = [*([re.compile(f"(?=({values}))")] if known else ()), *(re.compile(f"({p})") for p in _PATTERNS)]
        # Looked for first, as plain text: on events without a secret this is all that redaction costs.
        self._marks = (*_MARKS, *(json.dumps(secret, ensure_ascii=False)[1:-1].lower() for secret in known))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], more: Iterable[str] = ()) -> Redactor:
        """A redactor that knows the values of every variable whose name ends like a secret's."""
        named = [value for name, value in environment.items() if _ENVIRONMENT_NAME.search(name)]
        return cls([*named, *more])

    def text(self, text: str) -> str:
        """``text`` with every secret in it redacted; secrets that overlap are redacted as one."""
        if self._secret.search(text) is None:
            return text
        parts: list[str] = []
        end = 0
        for first, last in sorted(found.span(1) for secret in self._each for found in secret.finditer(text)):
            if first >= end:
                parts += (text[end:first], REDACTED)
            end = max(end, last)
        return "".join([*parts, text[end:]])

    def unfinished(self, written: str) -> str:
        """What can be shown of a text that is still being written: no secret, and nothing of what may yet become one.

        Text that was shown before may be missing from it: what seemed certain was the beginning of a secret.
        """
        text, whole = self.text(written[: self._safe_prefix(written)]), self.text(written)
        if not whole.startswith(text):
            text = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, whole, strict=False)))
        key = _BEGUN_KEY.search(text)
        return text if key is None else text[: key.start()]

    def _safe_prefix(self, written: str) -> int:
        """Return how many characters belong neither to an unfinished word nor to a known secret of several words."""
        end = max((space.end() for space in _SPACE.finditer(written)), default=0)
        for secret in self._of_words:
            longest = min(len(secret) - 1, len(written))
            part = next((size for size in range(longest, 0, -1) if written.endswith(secret[:size])), 0)
            end = min(end, len(written) - part)
        return end

    def value(self, value: _V) -> _V:
        """The same value without secrets; the very same object if it holds no secret."""
        written = value.model_dump_json().lower()
        if not any(map(written.__contains__, self._marks)):
            return value
        return type(value).model_validate(self.payload(value.model_dump(mode="json", by_alias=True)))

    def payload(self, payload: Json, name: str = "") -> Json:
        """JSON without secrets, keys named like a secret included."""
        match payload:
            case dict():
                entries = cast("dict[str, Any]", payload)
                return {self.text(key): self.payload(inner, key) for key, inner in entries.items()}
            case list():
                return [self.payload(inner, name) for inner in cast("list[Any]", payload)]
            case None | bool() | "":
                return payload
            case _ if SECRET_NAME.search(name):
                return REDACTED
            case str():
                return self.text(payload)
            case _:
                return payload
