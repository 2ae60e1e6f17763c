"""Results of tools that are used again: by the same tool with the same arguments, within their lifetime."""

import hashlib
import json
import logging
from collections.abc import Mapping

from pydantic import ValidationError

from leadhand.core.errors import StoreError
from leadhand.core.run import RunDefinition
from leadhand.core.secret import has_secret
from leadhand.core.text import REDACTED
from leadhand.core.tool import CachedFrom, Effect, ToolReturn, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.log import RunLog
from leadhand.ports import ContextStore

LOGGER = logging.getLogger("leadhand.tools")


class Kept(ToolReturn):
    """A result in the cache. ``raw`` above 4 kB is a blob reference, as in the log that it comes from."""

    cached: CachedFrom


class ToolCache:
    """Keeps results in the store, as the log has them: without secrets, and large data by digest.

    A key never gets what another key's runs found: the key of a run is a part of the name of an entry.
    """

    def __init__(self, store: ContextStore) -> None:
        self._store = store

    def name(self, tool: ToolSpec, args: Mapping[str, Json], run: RunDefinition) -> str | None:
        """Return the name of the entry for a call; None if the call must be made."""
        if tool.cache_s is None or tool.effect is Effect.ONCE:
            return None
        code = [tool.name, tool.import_path, tool.version or tool.fingerprint]
        asked = [*code, run.key_id, run.offline, run.documents, run.only_documents, args]
        text = json.dumps(asked, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return f"tool {hashlib.sha256(text.encode()).hexdigest()}"

    async def find(self, name: str, log: RunLog) -> Kept | None:
        """Return a result, with the call that it comes from; None if no result is kept, or its data are gone."""
        try:
            kept = Kept.model_validate(await self._store.cached(name))
            return kept.evolve(raw=await log.unpack(kept.raw))
        except (ValidationError, KeyError):  # of another release, or its data were deleted with the run
            return None
        except StoreError as error:  # the call is made instead
            LOGGER.warning("cannot read a tool result from the cache: %s", error.what)
            return None

    async def keep(self, name: str, ttl_s: float, returned: ToolReturn, raw: Json, origin: CachedFrom) -> None:
        """Keep what a call returned for ``ttl_s`` seconds, with ``raw`` as the log has it.

        The call is already in the log, so an error of the store is logged and not raised.
        """
        kept = Kept(summary=returned.summary, raw=raw, sources=returned.sources, sample=returned.sample, cached=origin)
        try:
            await self._store.cache(name, kept.model_dump(mode="json"), ttl_s)
        except StoreError as error:
            LOGGER.warning("cannot keep a tool result in the cache: %s", error.what)


def may_keep(returned: ToolReturn) -> bool:
    """Return whether a result may be kept: it has no secret, and asks nothing of its run."""
    written = returned.model_dump_json()
    return not (returned.asks or has_secret(written) or REDACTED in written)
