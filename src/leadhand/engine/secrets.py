"""The secrets of a run: what a tool, a model or a person wrote that looks like a secret, and the references to it.

A secret gets a reference when it comes in. Its value is written to a table of its own, in the transaction that writes
the first event with the reference, and it is read when a call is made that may have it. Nothing else reads the table.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import ChainMap
from collections.abc import Iterable

from leadhand.core.secret import (
    LOOKS_LIKE_ONE,
    OF_MODEL,
    OF_REQUEST,
    Placed,
    Secret,
    as_text,
    places_of_secrets,
    reference_to,
    revealed,
    secrets_in,
    source_of,
)
from leadhand.core.text import is_said
from leadhand.core.value import Json, compact_json
from leadhand.engine.redaction import Redactor, Sealing, forms_of
from leadhand.ports import ContextStore

SHORTEST = 8
"""Characters of a secret that is searched for wherever it may stand; shorter ones may be ordinary words."""
SHORTEST_GIVEN = 4
"""Characters of a secret that is searched for in what a call returns that was given it."""


class NoSuchSecret(Exception):
    """A reference leads nowhere: no secret of this run has the id."""


class RunSecrets:
    """What this process knows of the secrets of one run."""

    def __init__(self, store: ContextStore, run_id: str, redactor: Redactor) -> None:
        self._store, self._run_id, self._redactor = store, run_id, redactor
        self.known: dict[tuple[str, str], Secret] = {}
        self._values: dict[str, Json] = {}
        self.forms: dict[str, None] = {}
        self.is_current = False
        """Whether what other processes have written is known."""

    @staticmethod
    def of(store: ContextStore, run_id: str, redactor: Redactor) -> RunSecrets:
        """Return those of a run, which all of its logs in this process share."""
        known = redactor.of_runs.get(run_id)
        if known is None:
            known = redactor.of_runs[run_id] = RunSecrets(store, run_id, redactor)
        return known

    async def load(self, *, again: bool = False) -> None:
        """Read what other processes have written, unless that is known; in any case with ``again``."""
        if again or not self.is_current:
            self.add(await self._store.secrets(self._run_id))
            self.is_current = True

    def add(self, secrets: Iterable[Secret]) -> None:
        """Take note of secrets."""
        for secret in secrets:
            if (key := (secret.secret_id, secret.origin)) not in self.known:
                self.known[key] = secret
                self._values[secret.secret_id] = value = json.loads(secret.value)
                if isinstance(value, str) and len(value) >= SHORTEST and not value.isalpha():
                    self.forms |= dict.fromkeys(
                        each for form in forms_of(value) for each in (form, json.dumps(form)[1:-1])
                    )

    def sealing(
        self,
        origin: str = "",
        tool: str = "",
        given: Iterable[str] = (),
        *,
        args: Json = None,
        said: str = "",
        foreign: bool = False,
    ) -> Sealing:
        """Return what seals values of this ``origin``, also what a call with these ``args`` was ``given``.

        A secret that is known keeps the origins that it has if the program or a model writes it, too. What a model
        writes and the request ``said`` is the request's, unless it is a word.
        """

        def seal(value: Json) -> str:
            is_word = isinstance(value, str) and value.isalpha()
            of = OF_REQUEST if origin == OF_MODEL and not is_word and is_said(value, said) else source_of(origin, args)
            written = compact_json(value)
            digest = hmac.new(self._store.secret_key, written.encode(errors="surrogatepass"), hashlib.sha256)
            secret_id = f"sec_{digest.hexdigest()[:12]}"
            if of not in ("", OF_MODEL) or secret_id not in self._values:
                self.add([Secret(secret_id, of, tool, written)])
            return reference_to(secret_id)

        others = ChainMap(dict.fromkeys(given), self.forms)  # also those that are found meanwhile
        return Sealing(self._redactor, seal, self._values, others, foreign=foreign)

    def named_in(self, written: Iterable[str | bytes]) -> tuple[Secret, ...]:
        """Return the secrets to which texts refer, to write them with these texts."""
        ids = {each for text in written for each in secrets_in(text if isinstance(text, str) else text.decode())}
        return tuple(secret for (secret_id, _), secret in self.known.items() if secret_id in ids) if ids else ()

    async def reveal(self, value: Json, given: list[str] | None = None) -> Json:
        """Return a value with its secrets in place of the references, and add these, as texts, to ``given``.

        Raises NoSuchSecret for a reference that leads nowhere.
        """
        if LOOKS_LIKE_ONE not in compact_json(value):  # as in nearly all calls
            return value
        found = await self._find(value)
        if given is not None:
            given += [text for each in found if len(text := as_text(self._values[each])) >= SHORTEST_GIVEN]
        return revealed(value, self._values.__getitem__)

    async def origins(self, value: Json) -> list[Placed]:
        """Return the references in a value. Raises NoSuchSecret for one that leads nowhere."""
        await self._find(value)
        return [
            (path, [secret for (each, _), secret in self.known.items() if each == secret_id])
            for path, secret_id in places_of_secrets(value)
        ]

    async def _find(self, value: Json) -> set[str]:
        """Return the ids to which a value refers, all of which are known then."""
        named = {secret_id for _, secret_id in places_of_secrets(value)}
        if not named <= self._values.keys():
            await self.load(again=True)
        if missing := named - self._values.keys():
            raise NoSuchSecret(reference_to(min(missing)))
        return named
