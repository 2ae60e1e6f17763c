"""Redact secrets before they reach the log, by known values, typical patterns and field names.

What is known from the environment becomes ``[redacted]``. What only looks like a secret becomes what a ``seal`` makes
of it: of a run, a reference (:mod:`leadhand.engine.secrets`); without one, ``[redacted]``, too.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

from pydantic_core import SchemaValidator, core_schema

from leadhand.core.secret import (
    LOOKS_LIKE_ONE,
    REFERENCE,
    as_text,
    escaped,
    has_secret,
    read_json,
    reference_to,
    revealed,
)
from leadhand.core.text import REDACTED as REDACTED
from leadhand.core.value import Json, Value, compact_json

_V = TypeVar("_V", bound=Value)
Seal = Callable[[Json], str]
"""Returns what is written in place of a secret."""
_ENVIRONMENT_NAME = re.compile(
    # PWD and OLDPWD are directories, and variables such as SSH_ASKPASS name programs.
    r"(KEY|TOKEN|SECRET|CREDENTIALS?|_PAT|_DSN|(?<!^)(?<!^OLD)PWD)$|(?<!ASK)PASS",
    re.IGNORECASE,
)
_SECRET_URL = re.compile(r"://[^/]*@|\?|(?<![:/])/(?=[^/]*\d)[^/]{16,}")
"""A URL with credentials, a query, or a part like a token: what a variable ``*_URL`` must not show. Others may."""

# A group is the secret. The patterns match a text as well as the JSON that it is written as, where quotes, slashes and
# whitespace may be escaped. Of the two engines that compile them, only Python's looks around.
_NAMES = (
    r"(?=[-_apsrAPSR])(?i:password|passwd|passphrase|pwd|secret|[-_]pass|(?:api|private)[-_]?key"
    r"|(?:access|refresh)[-_]?token)"
)
_FIELD = rf"(?:{_NAMES}|(?i:authorization|[-_]pat|[-_]dsn))"
_SPACE = r"(?:[ \t\r\n\xa0]|\\{1,8}[nrt])"
_REST = r"\s\"<>\\\x00-\x1f"
_MIXED = r"(?=\S{0,40}\d)(?=\S{0,40}[A-Za-z])"
_CAPITALS = r"(?=[a-z]{0,9}[A-Z0-9][a-z]{0,9}[A-Z0-9])"
# It follows "secret: " or "token=", and is not like 8-character or 2026-11-24.
_TOKEN = _MIXED + r"([A-Za-z0-9_!$%^*+~@#]{8,}|[A-Za-z0-9_!$%^*+~@#=./-]{16,})[.=!?)*`]*(?:[\s\"'`&;,<>\\]|$)"
_KEYS = r"sk-|gsk_|AIza|gh[pousr]_|github_pat_|glpat-|AKIA|xox[abprs]-"  # of models, GitHub, GitLab, AWS, Slack
_BEFORE_KEY = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_OWN_KEY = rf"{_BEFORE_KEY}lh_[A-Za-z0-9_-]{{16,}}"  # the database has only its hash
_KEY_BODY = r"(?:[A-Za-z0-9+/=\s:,.]|-{1,4}[A-Za-z0-9]|\\{1,8}[nrt/])*"
_QUOTED = r"(?:\"([^\"\\\x00-\x1f]{4,})|'([^'\\\x00-\x1f]{4,}))"
_VALUE = rf"=([^'&;,{_REST}]{{4,}})|\\{{0,8}}[\"']?{_SPACE}*[:=]{_SPACE}*\\{{0,8}}{_QUOTED}"
_PATTERNS = (
    rf"(?=[sgAx]){_BEFORE_KEY}((?:{_KEYS})[A-Za-z0-9_-]{{16,}})",
    rf"(?=e){_BEFORE_KEY}((?:eyJ[A-Za-z0-9_-]{{8,}}\.){{2}}[A-Za-z0-9_-]{{8,}})",  # a JSON Web Token
    rf"(?i:bearer){_SPACE}+([A-Za-z0-9._~+/-]{{16,}}=*)|(?i:basic){_SPACE}+{_CAPITALS}([A-Za-z0-9+/]{{12,}}=*)",
    rf":\\{{0,8}}/\\{{0,8}}/([^/?#{_REST}]+)@",
    rf"{_NAMES}(?:{_VALUE}|[*`]*[ \t]*[:=](?:[ \t*`]|\\t)*{_TOKEN})",
    rf"(?=[abistuABISTU])(?:(?<![A-Za-z0-9_-])|(?i:auth|api|id|bot|session|user)[-_])(?i:token)={_TOKEN}",
    rf"(-----BEGIN [A-Z ]*PRIVATE KEY-----{_KEY_BODY}(?:-----END[A-Z ]*-{{0,5}})?)",
)
_SEALED = re.compile(rf"{REFERENCE.pattern}|{re.escape(REDACTED)}")
_FIELD_NAME = re.compile(rf"{_FIELD}$")
_WORD = re.compile(r"[!-\u0dff]+|\S")
"""A word, or a character of a script that is written without spaces, such as Chinese."""


class Redactor:
    """Redacts secrets in values: given values, text that looks like a secret, and fields with the name of a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Values of fewer than eight characters are not searched for, because they may be ordinary words."""
        forms = {form for secret in secrets if len(secret) >= 8 for form in forms_of(secret)}
        self._known = sorted(forms, key=len, reverse=True)
        # "-----BEGIN RSA PRIVATE KEY-----" has four words; what else begins a secret of several words has fewer.
        words = [_WORD.findall(secret) for secret in forms]
        self._most_words = max([4, *map(len, words)])
        begin = [rf"(?i:bearer|basic)|-----BEGIN|{_NAMES}", *(re.escape(each[0]) for each in words if len(each) > 1)]
        self._begin = re.compile("|".join(begin))
        self.of_runs = WeakValueDictionary[str, Any]()
        """What this process knows of the secrets of runs, by run."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], keys: Iterable[str] = ()) -> Redactor:
        """A redactor that knows the values of every variable named like a secret, the passwords in URLs, and the values
        of the variables in ``keys``."""
        named = (environment[each] for each in keys if each in environment)
        return cls([*named, *(secret for item in environment.items() for secret in _secrets_of(*item))])

    def may_hold_secret(self, written: str) -> bool:
        """Whether a text, or a value as JSON, may have a secret."""
        return self._search(written if written.isascii() else written.encode(errors="replace"))

    @cached_property
    def _search(self) -> Callable[[str | bytes], bool]:
        """Pydantic searches a hundred times faster than Python, but returns no place."""
        known = (_literal(secret[:40]) for secret in self._known)
        pattern = re.sub(r"\(\?<?[=!][^)]*\)", "", "|".join([_OWN_KEY, *known, *_PATTERNS, rf'{_FIELD}\\{{0,8}}"\s*:']))
        pattern = pattern.replace("{0,8}", "*").replace("{1,8}", "+")  # Python would take quadratic time
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        known = "|".join([_OWN_KEY, *map(_literal, self._known)])
        return [re.compile(pattern) for pattern in (known, *_PATTERNS)]

    def text(self, text: str) -> str:
        """``text`` with every secret in it redacted. If it is JSON, that includes fields with the name of a secret."""
        return Sealing(self).text(text) if self.may_hold_secret(text) else text

    def settled(self, written: str) -> int:
        """Return how many characters can be shown of a text that is still being written.

        What follows them is an unfinished word, and what before it may become a secret of several words.
        """
        words = [0, *(found.start() for found in _WORD.finditer(written))]
        stop = len(written) if written[-1:].isspace() else words[-1]
        if begun := self._begin.search(written, words[-self._most_words :][0]):
            stop = min(stop, begun.start())
        patterns = self._patterns if self.may_hold_secret(written) else []
        spans = sorted(found.span() for pattern in patterns for found in pattern.finditer(written))
        for first, last in reversed(spans):
            stop = first if first < stop <= last else stop
        return stop

    def value(self, value: _V) -> _V:
        """Return the value without secrets; the same object if it contains none."""
        return Sealing(self).value(value, value.model_dump_json())

    def payload(self, payload: Json) -> Json:
        """Return JSON without secrets, including fields with the name of a secret."""
        return Sealing(self).payload(payload)

    def of_log(self) -> Sealing:
        """Return what also redacts the secrets of the runs that this process knows, on any thread."""
        runs = filter(None, (reference() for reference in self.of_runs.valuerefs()))
        return Sealing(self, others=[form for each in runs for form in [*each.forms]])

    def knows(self, text: str) -> bool:
        """Whether a text has a value that is known from the environment, or a key of Leadhand itself."""
        return self._patterns[0].search(text) is not None

    def spans(self, text: str, others: Iterable[str]) -> list[tuple[int, int, bool]]:
        """Return where a text has secrets, also ``others``, in order and apart from each other: the first and last
        position, and whether it is :meth:`known <knows>`."""
        found = [
            (*each.span(each.lastindex or 0), number == 0)
            for number, pattern in enumerate(self._patterns)
            for each in pattern.finditer(text)
        ]
        for other in others:
            at = text.find(other)
            while at >= 0:
                found.append((at, at + len(other), False))
                at = text.find(other, at + len(other))
        merged: list[tuple[int, int, bool]] = []
        for first, last, known in sorted(found):
            if merged and first <= merged[-1][1]:
                before = merged.pop()
                first, last, known = before[0], max(last, before[1]), known or before[2]
            merged.append((first, last, known))
        return merged


class Sealing:
    """Puts what ``seal`` makes of a secret in place of each.

    ``others`` are searched for, too. With ``foreign``, values come from elsewhere: nothing in them refers to a secret,
    and :func:`~leadhand.core.secret.revealed` returns each as it was, with the ``values`` of what was sealed by id.
    """

    def __init__(
        self,
        redactor: Redactor,
        seal: Seal | None = None,
        values: Mapping[str, Json] | None = None,
        others: Iterable[str] = (),
        *,
        foreign: bool = False,
    ) -> None:
        self._redactor, self._seal = redactor, seal
        self._values: Mapping[str, Json] = {} if values is None else values
        self._others, self._foreign = others, foreign

    def value(self, value: _V, written: str) -> _V:
        """Return a value, which is ``written`` so as JSON, with its secrets sealed; the same object if it has none."""
        if self._is_clean(written):
            return value
        payload = value.model_dump(mode="json", by_alias=True)
        clean = self.payload(payload)
        return value if clean == payload else type(value).model_validate(clean)

    def json(self, value: Json, written: str) -> Json:
        """Return JSON, which is ``written`` so, with its secrets sealed; the same object if it has none."""
        if value is None or self._is_clean(written):
            return value
        clean = self.payload(value)
        return value if clean == value else clean

    def payload(self, payload: Json) -> Json:
        """Return JSON with its secrets sealed, wherever they stand: also those in fields with the name of a secret."""
        clean = self._payload(payload)
        while clean != payload and clean != (again := self._own._payload(clean)):
            clean = again
        return clean

    def _payload(self, payload: Json, name: str = "") -> Json:
        if isinstance(payload, dict):
            fields = cast("dict[str, Any]", payload)
            return {self.text(key): self._payload(inner, key) for key, inner in fields.items()}
        if isinstance(payload, list):
            return [self._payload(inner, name) for inner in cast("list[Any]", payload)]
        if payload is None or isinstance(payload, bool) or payload == "":
            return payload
        if _FIELD_NAME.search(name) and (self._foreign or not has_secret(payload)):
            return self._sealed(payload)
        if isinstance(payload, str):
            return self.text(payload)
        return self._sealed(payload) if as_text(payload) in self._others else payload  # a number that a call was given

    def text(self, text: str) -> str:
        """Return a text with its secrets sealed. If it is JSON, that includes fields with the name of a secret."""
        if self._is_clean(text):
            return text
        clean = self._written(text)
        exact = self._seal is None or not self._foreign or self._redactor.knows(text)
        return clean if exact or revealed(clean, self._values.get) == text else self._sealed(text)

    def _is_clean(self, written: str) -> bool:
        """Whether a text, or a value as JSON, is certainly the same afterwards."""
        if self._redactor.may_hold_secret(written) or (self._foreign and LOOKS_LIKE_ONE in written):
            return False
        return not any(other in written for other in self._others)

    def _written(self, text: str) -> str:
        if read := read_json(text):
            value, write = read
            return write(self.payload(value))
        own = self._own
        clean = (self._plain if self._foreign else self._between)(text)
        while clean != (again := own._between(clean)):  # what is beside a secret may look like one on its own
            clean = again
        if clean.lstrip()[:1] not in ("{", "["):
            return clean
        try:
            value = json.loads(clean)
        except (ValueError, RecursionError):
            return clean
        named = own.payload(value)  # also of JSON that is written in another way
        if named == value:
            return clean
        return self._sealed(text) if self._foreign else compact_json(named)

    @property
    def _own(self) -> Sealing:
        """What seals values that may refer to secrets."""
        return Sealing(self._redactor, self._seal, self._values, self._others) if self._foreign else self

    def _between(self, text: str) -> str:
        """Return a text with the secrets between what is sealed already."""
        parts, done = list[str](), 0
        for found in _SEALED.finditer(text):
            parts += [self._plain(text[done : found.start()]), found[0]]
            done = found.end()
        return "".join([*parts, self._plain(text[done:])])

    def _plain(self, text: str) -> str:
        parts, done, literal = list[str](), 0, escaped if self._foreign else str
        for first, last, known in self._redactor.spans(text, self._others):
            parts += [literal(text[done:first]), REDACTED if known else self._sealed(text[first:last])]
            done = last
        return "".join([*parts, literal(text[done:])])

    def _sealed(self, value: Json) -> str:
        """Return what is written in place of a secret; what is known from the environment is never sealed."""
        text = as_text(value)
        is_redacted = text == REDACTED or (REDACTED in text and not self._foreign)
        if self._seal is None or is_redacted or self._redactor.knows(text):
            return REDACTED
        return self._seal(value if self._foreign else revealed(value, reference_to))


def _secrets_of(name: str, value: str) -> Iterator[str]:
    """What a variable of the environment holds that must not be shown."""
    if _ENVIRONMENT_NAME.search(name) or (name.upper().endswith("_URL") and _SECRET_URL.search(value)):
        yield value
    for userinfo in re.findall(r"://([^\s/?#\"<>\\]+)@", value):
        password = userinfo.partition(":")[2]
        yield from (password, unquote(password))


def forms_of(secret: str) -> Iterator[str]:
    """Yield a secret as it is, percent-encoded, and in base64, also after the name of Basic credentials."""
    encoded = secret.encode(errors="surrogateescape")
    yield from (encoded.decode(errors="ignore"), quote(encoded, safe=""))
    for before in range(3):
        whole = base64.b64encode(bytes(before) + encoded).decode()
        of_secret = whole[-(-before * 8 // 6) : (before + len(encoded)) * 8 // 6]
        yield from (of_secret, of_secret.replace("+", "-").replace("/", "_"))


def _literal(secret: str) -> str:
    """Return a pattern of a text, ignoring case, in which JSON may have escaped characters once or several times."""
    return f"(?i:{''.join(map(_character, secret))})"


def _character(sign: str) -> str:
    if sign.isascii() and sign.isalnum():
        return sign
    escaped = re.escape(json.dumps(sign)[1:-1]).replace(r"\\", r"\\{1,8}")
    unicode = "" if ord(sign) > 0xFFFF else rf"|\\{{1,8}}u{ord(sign):04x}"
    return f"(?:{escaped}|{re.escape(sign)}{unicode}|\\\\{{1,8}}{re.escape(sign)})"
