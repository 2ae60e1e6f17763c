"""``leadhand keys revoke``: have an API key open nothing any more."""

from __future__ import annotations

from leadhand.app.keys import key_document, key_store, named_key
from leadhand.cli.console import say, write_json
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader


async def keys_revoke(key_id: str, /, *, json: bool = False, place: Place = HERE) -> int:
    """Have an API key open nothing any more.

    Parameters
    ----------
    key_id
        The id of the key, or its beginning.
    json
        Print the key, as it is kept, as a JSON object.
    """
    async with open_reader(place) as lead:
        store = key_store((await lead.runtime()).store)
        before = await named_key(store, key_id)
        key = await store.revoke_key(before.key_id)
    if json:
        write_json(key_document(key))
    already = "was revoked already, and" if before.revoked_at is not None else "is revoked: it"
    say(f"The key {key.key_id} of {key.name} {already} opens nothing any more.")
    return Exit.ANSWERED
