"""Redact secrets before they reach the log, by known values, typical patterns and field names."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, takewhile
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote

from leadhand.core.text import REDACTED as REDACTED
from leadhand.core.value import Json, Value, compact_json

SECRET_NAME = re.compile(
    r"(api[-_]?key|authorization|password|passwd|passphrase|pwd|[-_]pass|[-_]pat|[-_]dsn|secret|access[-_]?token"
    r"|refresh[-_]?token|private[-_]?key)$",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(
    # PWD and OLDPWD are directories, and variables such as SSH_ASKPASS name programs.
    r"(KEY|TOKEN|SECRET|CREDENTIALS?|_PAT|_DSN|(?<!^)(?<!^OLD)PWD)$|(?<!ASK)PASS",
    re.IGNORECASE,
)
_SECRET_URL = re.compile(r"://[^/]*@|\?|(?<![:/])/(?=[^/]*\d)[^/]{16,}")
"""A URL with credentials, a query, or a part like a token: what a variable ``*_URL`` must not show. Others may."""
_USERINFO = r"(?<=://)[^\s/?#\"<>\\]+(?=@)"
_USERINFO_CUT = r"(?<=://)[^\s/?#\"<>\\@:\[]+:(?!\d{1,5}(?:…|\Z))[^\s/?#\"<>\\@…]+(?=…|\Z)"
"""A name and the first part of a password, at the place where a text was cut; up to five digits are a port."""
_PATTERNS = (
    r"sk-[A-Za-z0-9_\-]{16,}",  # OpenAI, Anthropic, OpenRouter
    r"gsk_[A-Za-z0-9]{20,}",  # Groq
    r"AIza[0-9A-Za-z_\-]{30,}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_\-]{20,}",  # GitLab
    r"AKIA[0-9A-Z]{16}",  # AWS
    r"xox[abprs]-[A-Za-z0-9\-]{10,}",  # Slack
    r"lh_[A-Za-z0-9_\-]{30,}",  # Leadhand
    r"(?i:bearer)\s+[A-Za-z0-9._~+/\-]{16,}=*",
    _USERINFO,
    _USERINFO_CUT,
)
_NAMED = r"(?i:password|passwd|passphrase|pwd|secret|api[-_]?key|access[-_]?token)"
_QUOTED = _NAMED + r"\\?[\"']?\s*[:=]\s*\\?"
_WORD = r"[^\s\"'`&;,<>]"
_ALGORITHMS = ("sha", "md", "aes", "base", "oauth", "utf", "pbkdf", "argon", "rsa", "[hre]s", "ed", "tls", "ssl", "erc")
_ORDINARY = (
    rf"(?i:(?:{'|'.join(_ALGORITHMS)})[-_]?\d|[a-z]+://"
    r"|\d[\d.,]{0,7}(?:e[-+]?\d+)?[-/]?[a-z/%]*(?![^\s.,;:!?)]))"
)
"""What people write after ``secret:`` and ``token:`` besides words: an algorithm, a URL, a number with its unit."""
_MIXED = rf"(?={_WORD}*\d)(?={_WORD}*[A-Za-z])(?!{_ORDINARY})({_WORD}{{6,}})"
_NOTED = rf"(?:{_NAMED}|(?i:refresh[-_]?token))[*`]*[ \t]*"
_VALUE = r"[:=][ \t*`]*"
_TOKEN = r"(?<![A-Za-z0-9_-])(?:(?i:auth|api|id|bot|session|user)[-_])?(?i:token)="
_ASSIGNED = re.compile(
    rf"(?={_NAMED}=([^\s\"'&;,<>]{{4,}})|{_QUOTED}(?:\"([^\"\n]{{4,}})|'([^'\n]{{4,}}))"
    rf"|(?<=[-_])(?i:pass)=({_WORD}{{4,}})|(?:{_NOTED}{_VALUE}|{_TOKEN}){_MIXED})",
)
"""``password=…``, or with the value in quotes, such as in JSON that is part of a text; a group is the value.

``password: …`` and ``token=…`` are common in ordinary text, so their value needs letters and digits.
"""
_BASIC = re.compile(r"(?<![A-Za-z0-9_])(?i:basic)\s+(?=([A-Za-z0-9+/_\-]{4,}={0,2}))")
"""Perhaps the credentials of HTTP; the group is what must decode to them, or may be the same word again."""
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_KEY_LINES = re.compile(r"(?:(?:\s|\\n)*[A-Za-z0-9+/=]{8,})*")
_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((mark, ()) for mark in ("gsk_", "aiza", "github_pat_", "glpat-", "akia", "xox", "lh_", "bearer", "basic", "@")),
    *((mark, ()) for mark in ("authorization", "pass", "pwd", "secret")),
    ("gh", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("api", ("apikey", "api_key", "api-key")),
    ("private", ("private key", "privatekey", "private_key", "private-key")),
    ("access", ("accesstoken", "access_token", "access-token")),
    ("refresh", ("refreshtoken", "refresh_token", "refresh-token")),
    ("token=", ()),
    ('pat"', ('_pat"', '-pat"')),
    ('dsn"', ('_dsn"', '-dsn"')),
)
"""One of these, in lower case, is in the JSON of each text that a pattern or a name matches, but for the first pattern:
the first text of a line, and one of those after it, if there are some. No event field has such a name."""
_LETTERS = ("\u017f", "\u0131", "i\u0307")
"""Letters that a pattern takes for s and i, whatever their case."""
_HIDES = re.compile(r"\\[^\"nrt]")
"""A backslash or control character inside a text, as JSON: what an escape of the text stands for is hidden."""
_SK = re.compile(r"sk-[a-z0-9_\-]{16}")
"""The first pattern in lower case. Its prefix alone is too common a mark: it is in ``task-1`` and ``risk-free``."""

_BEGUN = re.compile(
    rf"(?:(?i:bearer|basic)\s+\S*|{_QUOTED}(?:\"[^\"\n]*(?:\"\S*)?|'[^'\n]*(?:'\S*)?)?|{_NOTED}(?:{_VALUE}\S*)?)\Z"
)
_KEY_BEGUN = re.compile(r"-----BEGIN [A-Z ]*-{0,5}")
"""What may yet become a secret of several words, apart from known ones."""
_URL_CUT = re.compile(r"://[^\s/?#\"<>@:\[]+:[^\s/?#\"<>@…]+[…\"]")
"""What the JSON of a text with a cut password in a URL has; a backslash in it may be the escape of a character."""
_SPACE = re.compile(r"\s")
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
"""Scripts that are written without spaces (Thai to Khmer, Japanese, Chinese). No pattern but those of a URL's password
and of what follows an equals sign takes one of their characters for a part of a secret."""
_MAY_GO_ON = ("://", "=", "\\")
_ESCAPE = re.compile(r"\\+(u[0-9A-Fa-f]{4}|[\"'\\/bfnrt])")
"""An escape of JSON, also in a text that was itself escaped."""
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

SHORTEST_SECRET = 8
"""Minimum characters of known values to search for; shorter ones would redact ordinary words. What a pattern matches is
as long, but for the credentials of a URL, which end with ``@``."""
_LONGEST_BEGINNING = 12
_AFTER_CUT = ("", "…", "'", '"')
"""What follows a text that was cut to a length: nothing, or what the message around it adds."""

_V = TypeVar("_V", bound=Value)


class Redactor:
    """Redacts secrets in values: given values, text that looks like a secret, and fields with the name of a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        given = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        forms = set(chain.from_iterable(map(_forms, given)))
        known = sorted(given | forms, key=len, reverse=True)
        self._of_words = [secret for secret in known if _SPACE.search(secret)]
        self._beginnings = [(secret, _beginning(secret)) for secret in known if secret in given]
        signs = re.escape("".join({sign for secret in given for sign in secret}))
        self._spaceless = re.compile(rf"(?s:.*)(?![\s{signs}])[{_SPACELESS}]")
        # They are looked for at every place: what one match ends in may begin another.
        values = ["|".join(map(re.escape, known))] if known else []
        self._each = [re.compile(f"(?=({pattern}))") for pattern in (*values, *_PATTERNS)]
        more = (_ASSIGNED.pattern, _BASIC.pattern, _KEY_BEGIN.pattern)
        begun = [re.escape(beginning) for _, beginning in self._beginnings]
        self._secret = re.compile("|".join([*values, *begun, *_PATTERNS, *more]))
        marks = forms.union(beginning for _, beginning in self._beginnings)
        folded = {json.dumps(mark, ensure_ascii=False)[1:-1].casefold() for mark in marks}
        self._known_marks = [mark for mark in folded if not any(each in mark and each != mark for each in folded)]

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], more: Iterable[str] = ()) -> Redactor:
        """A redactor that knows the values of every variable named like a secret, and the passwords in URLs."""
        return cls([*(secret for item in environment.items() for secret in _secrets_of(*item)), *more])

    def text(self, text: str) -> str:
        """``text`` with every secret in it redacted; secrets that overlap are redacted as one.

        A text that is JSON has its fields with the name of a secret redacted, too.
        """
        if len(text) < SHORTEST_SECRET and "@" not in text:
            return text
        if not self._is_marked(text, _ESCAPE.sub(_character, text) if "\\" in text else ""):
            return text
        text = self._redacted(text, *_decoded(text), len(text))[0]
        if text[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                value = json.loads(text)
                clean = self.payload(value)
                return text if clean == value else compact_json(clean)
        return text

    def unfinished(self, written: str) -> tuple[str, str]:
        """Return what can be shown of a text that is still being written, and what of it has to be read again.

        No secret is shown, and nothing that may yet become one. What follows belongs to what has to be read again.
        """
        decoded, places = _decoded(written)
        is_marked = self._is_marked(written, decoded)
        stop = self._safe_prefix(written, _BEGUN.search(written) if is_marked else None)
        shown, end = self._redacted(written, decoded, places, stop) if is_marked else (written[:stop], stop)
        whole = written[:stop][-1:].isspace() or self._spaceless.match(written, max(stop - 1, 0), stop)
        return shown, written[stop:] if end <= stop and whole else written

    def _is_marked(self, text: str, decoded: str) -> bool:
        return any(self._has_mark(json.dumps(form, ensure_ascii=False)) for form in (text, decoded) if form)

    def _redacted(self, text: str, decoded: str, places: list[int], stop: int) -> tuple[str, int]:
        """Return ``text`` up to ``stop`` with every secret in it redacted, and where the last of them ends."""
        spans = list(self._spans(text)) if self._secret.search(text) is not None else []
        if self._secret.search(decoded) is not None:
            spans += [(places[first], places[last]) for first, last in self._spans(decoded)]
        parts: list[str] = []
        end = 0
        for first, last in sorted(spans):
            if first >= stop:
                break
            if first >= end:
                parts += (text[end:first], REDACTED)
            end = max(end, last)
        return "".join([*parts, text[end:stop]]), end

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the secrets of a text begin and end, in any order."""
        for pattern in (*self._each, _ASSIGNED):
            yield from (found.span(found.lastindex or 0) for found in pattern.finditer(text))
        yield from ((found.start(), found.end(1)) for found in _BASIC.finditer(text) if _are_credentials(found[1]))
        yield from _private_keys(text)
        for secret, beginning in self._beginnings:
            yield from _cut_off(text, secret, beginning)

    def _safe_prefix(self, written: str, begun: re.Match[str] | None) -> int:
        """Return where the unfinished word begins, or what of several words may yet become a secret."""
        last = "" if written[-1:].isspace() else "".join(written.rsplit(None, 1)[-1:])
        if not any(sign in last for sign in _MAY_GO_ON) and (found := self._spaceless.match(last)):
            last = last[found.end() :]
        end = len(written) - len(last)
        if begun is not None:
            end = min(end, begun.start())
        header = written.rfind("-----BEGIN ")
        if header >= 0 and _KEY_BEGUN.fullmatch(written, header):
            end = min(end, header)
        keys = list(_private_keys(written))
        if keys and not _KEY_END.search(written, keys[-1][0]):
            end = min(end, keys[-1][0])
        for secret in self._of_words:
            longest = min(len(secret) - 1, len(written))
            part = next((size for size in range(longest, 0, -1) if written.endswith(secret[:size])), 0)
            end = min(end, len(written) - part)
        return end

    def _may_hold_secret(self, written: str) -> bool:
        """Whether a text or event, as JSON, has anything that every secret has. Where not, this is all that redaction
        costs: plain text is found several times faster than patterns.
        """
        return bool(_HIDES.search(written)) or self._has_mark(written)

    def _has_mark(self, written: str) -> bool:
        """Whether a text or event, as JSON, has a mark of a secret that is written in it without an escape."""
        folded = written.casefold()
        if any(map(folded.__contains__, self._known_marks)):
            return True
        if not folded.isascii() and any(map(folded.__contains__, _LETTERS)):
            return True
        for mark, exact in _MARKS:
            if mark in folded and (not exact or any(map(folded.__contains__, exact))):
                return True
        return bool(_SK.search(folded) or _URL_CUT.search(folded))

    def value(self, value: _V, written: str = "") -> _V:
        """Return the value, which is ``written`` so as JSON, without secrets; the same object if it contains none."""
        if not self._may_hold_secret(written or value.model_dump_json()):
            return value
        return type(value).model_validate(self.payload(value.model_dump(mode="json", by_alias=True)))

    def json(self, value: Json, written: str = "") -> Json:
        """Return JSON, which is ``written`` so, without secrets; the same object if it contains none."""
        if value is None or not self._may_hold_secret(written or compact_json(value)):
            return value
        return self.payload(value)

    def payload(self, payload: Json, name: str = "") -> Json:
        """Return JSON without secrets, including fields with the name of a secret."""
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


def _decoded(text: str) -> tuple[str, list[int]]:
    """Return a text, such as JSON, with its escapes decoded, and where each of its characters (and the end) was.

    Both are empty if it has none.
    """
    if "\\" not in text:
        return "", []
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for found in _ESCAPE.finditer(text):
        places += range(end, found.start())
        parts += (text[end : found.start()], _character(found))
        places.append(found.start())
        end = found.end()
    return "".join([*parts, text[end:]]), [*places, *range(end, len(text) + 1)]


def _character(found: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    return _ESCAPED.get(found[1], found[1]) if len(found[1]) == 1 else chr(int(found[1][1:], 16))


def _secrets_of(name: str, value: str) -> Iterator[str]:
    """What a variable of the environment holds that must not be shown."""
    if _ENVIRONMENT_NAME.search(name) or (name.upper().endswith("_URL") and _SECRET_URL.search(value)):
        yield value
    for userinfo in re.findall(_USERINFO, value):
        password = userinfo.partition(":")[2]
        yield from (password, unquote(password))


def _forms(secret: str) -> Iterator[str]:
    """Yield other forms of a secret: in capitals, percent-encoded, and in base64 without padding."""
    encoded = secret.encode(errors="surrogateescape")
    yield from (secret.upper(), quote(encoded, safe=""), base64.b64encode(encoded).decode().rstrip("="))


def _are_credentials(encoded: str) -> bool:
    """Whether a word is what HTTP's Basic authentication sends: a name and a password, in base64."""
    try:
        standard = encoded.replace("-", "+").replace("_", "/").rstrip("=")
        decoded = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in decoded and decoded.isprintable()


def _beginning(secret: str) -> str:
    """What a text must hold of a known secret so that the rest counts as cut off.

    Of a URL, that is all up to the first character of its password, its query or what looks like a token; its scheme
    and its host are not secret.
    """
    if "://" in secret:
        found = _SECRET_URL.search(secret[: secret.find("?") + 1] or secret)
        if found is None:
            return secret
        name = found[0].startswith("://")
        last = secret.find(":", found.start() + 3, found.end()) if name else found.start()
        return secret[: (last if last >= 0 else found.start() + 2) + 2]
    return secret[: min(_LONGEST_BEGINNING, max(SHORTEST_SECRET, len(secret) // 2))]


def _cut_off(text: str, secret: str, beginning: str) -> Iterator[tuple[int, int]]:
    """Where the first part of a known secret is, if the text was cut in the middle of it: messages have a length."""
    first = text.find(beginning)
    while first >= 0:
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(text[first : first + len(secret)], secret, strict=False))
        last = first + len(list(equal))
        if text[last : last + 1] in _AFTER_CUT:
            yield first, last
        first = text.find(beginning, first + 1)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where private keys begin and end. One without an end, which was cut off, ends with what looks like its lines."""
    begin = _KEY_BEGIN.search(text)
    while begin is not None:
        end = _KEY_END.search(text, begin.end())
        if end is None:
            lines = _KEY_LINES.match(text, begin.end())
            assert lines is not None
            yield begin.start(), lines.end()
            return
        yield begin.start(), end.end()
        begin = _KEY_BEGIN.search(text, end.end())
