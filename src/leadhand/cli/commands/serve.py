"""``leadhand serve``: the API, live events and the console."""

from __future__ import annotations

import contextlib
import sys

from leadhand import __version__
from leadhand.cli.collecting import seldom
from leadhand.cli.console import say, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import ANY_MODEL, HERE, USUAL_LIMITS, LimitFlags, ModelFlags, Place, open_asked
from leadhand.cli.policies import approval
from leadhand.cli.telling import kept_in, say_table
from leadhand.domain.errors import ConfigurationError, UsageError

PORT = 8_700
LOCAL = ("127.0.0.1", "localhost", "::1")


async def serve(
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    open: bool = False,
    cors: tuple[str, ...] = (),
    allow_host: tuple[str, ...] = (),
    require_key: bool = False,
    tools: tuple[str, ...] = (),
    approve: tuple[str, ...] = (),
    models: ModelFlags = ANY_MODEL,
    limits: LimitFlags = USUAL_LIMITS,
    place: Place = HERE,
) -> int:
    """Serve the API and the console until Ctrl-C. Runs survive it: the next server goes on with them.

    Models, limits and approvals are what runs get that do not ask for others. The address goes to stdout, the log to
    stderr.

    Parameters
    ----------
    host
        Listen on this address. Any other than this machine's own needs a key: leadhand keys create.
    port
        Listen on this port; 0 takes any that is free.
    open
        Open the console in a browser.
    cors
        Let pages of this site use the API, with a key (may be given again): https://app.example.org.
    allow_host
        Answer to this host name, too (may be given again): for a proxy in front.
    require_key
        Ask for a key on this machine, too: for a proxy in front.
    tools
        Add the tools of this Python file or module (may be given again).
    approve
        What becomes of calls that need a person's yes: ask (unless told), auto or never; or rules, as for run.
    """
    models.check()
    limits.check()
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port is {port}", "Give a number from 0 to 65535.")
    origins = tuple(_origin(each) for each in cors)
    policy, rules = approval(approve)
    from leadhand.app.keys import key_store
    from leadhand.cli.own_tools import all_tools
    from leadhand.server.app import Doors, create_app
    from leadhand.server.console import built_console
    from leadhand.server.guard import LOOPBACK
    from leadhand.server.logs import reset_logging, set_up_logging
    from leadhand.server.serving import Server, bind
    from leadhand.server.wiring import Live

    live = Live()
    lead = open_asked(
        place, models, limits, tools=all_tools(tools), approve=policy, approve_rules=rules, on_text=live.write
    )
    async with lead:
        runtime = await lead.runtime()
        local = host in LOCAL
        if not local or require_key:
            usable = [key for key in await key_store(runtime.store).keys() if key.revoked_at is None]
            if not usable:
                raise ConfigurationError(
                    f"--host {host} can be reached by others, and there is no key"
                    if not local
                    else "--require-key asks for a key, and there is none",
                    f"Make one first: {place.command('keys', 'create', 'NAME')}",
                )
        service = live.service(runtime)
        doors = Doors(
            key_needed=not local or require_key,
            hosts=LOOPBACK | {each.lower() for each in allow_host} if local or allow_host else None,
            origins=origins,
        )
        console = built_console()
        app = create_app(service, doors=doors, console=console)
        with contextlib.closing(bind(host, port)) as listening:
            url = _url(host, listening.getsockname()[1])
            say(f"Leadhand {__version__}")
            say_table(
                iter(
                    [
                        ("model", f"{runtime.choice.models.default} ({runtime.choice.why})"),
                        ("kept", kept_in(runtime)),
                        ("console", url if console is not None else "not built: uv sync --reinstall-package leadhand"),
                        ("api", f"{url}/docs"),
                        (
                            "access",
                            "with a key: leadhand keys list" if doors.key_needed else "this machine only, no key",
                        ),
                    ]
                )
            )
            say("Ctrl-C ends it; what runs then goes on when it is started again.")
            write_line(url)
            set_up_logging(runtime.settings.environment, sys.stderr, service.redactor)
            if open:
                _open(url)
            try:
                with seldom():
                    await Server(app).serve(sockets=[listening])
            finally:
                reset_logging()
    return Exit.ANSWERED


def _origin(given: str) -> str:
    """An origin as browsers write it. Raises UsageError."""
    from urllib.parse import urlsplit

    parts = urlsplit(given.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query or parts.username:
        raise UsageError(f"--cors is {given!r}", "Give the origin of a site: https://app.example.org")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        say(f"No browser could be opened: open {url} yourself.")
