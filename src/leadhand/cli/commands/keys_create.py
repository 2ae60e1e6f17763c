"""``leadhand keys create``: make an API key, and show it once."""

from __future__ import annotations

from leadhand.app.keys import USUAL_SCOPES, key_document, key_store, make_key
from leadhand.cli.console import say, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.domain.access import Scope
from leadhand.domain.errors import UsageError


async def keys_create(name: str, /, *, scope: tuple[str, ...] = (), json: bool = False, place: Place = HERE) -> int:
    """Make an API key, and show it once.

    Parameters
    ----------
    name
        Who or what will use it.
    scope
        Allow this: read, run, approve or admin (may be given again). Else read, run and approve.
    json
        Print it as a JSON object, the key included.
    """
    scopes = [_scope(each) for each in scope] or USUAL_SCOPES
    async with open_reader(place) as lead:
        key, secret = await make_key(key_store((await lead.runtime()).store), name, scopes)
    if json:
        write_json({**key_document(key), "key": secret})
    else:
        write_line(secret)
    say(f"This is the key of {key.name}, for: {', '.join(key.scopes)}. It is shown this once, and kept nowhere.")
    say(f"Revoke it: {place.command('keys', 'revoke', key.key_id)}")
    return Exit.ANSWERED


def _scope(given: str) -> Scope:
    try:
        return Scope(given.strip().lower())
    except ValueError as error:
        raise UsageError(f"--scope is {given!r}", f"It is one of: {', '.join(Scope)}.") from error
