"""``leadhand serve``: the HTTP API, live events and the console."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from leadhand import __version__
from leadhand.api import Leadhand
from leadhand.app.runtime.listings import retention
from leadhand.app.steering.keys import all_keys
from leadhand.cli.options import (
    Documents,
    DriverFlags,
    Flag,
    LimitFlags,
    ModelFlags,
    OnlyDocuments,
    Tools,
    open_lead,
)
from leadhand.cli.terminal.messages import database_name, say_table
from leadhand.cli.terminal.streams import say, write_line
from leadhand.core.errors import ConfigurationError, UsageError

PORT = 8_700


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where a server listens, whom it answers, and what its runs have."""

    TITLE: ClassVar[str] = "Flags"

    host: Annotated[
        str, Flag("Listen on this address. One that other machines can reach requires an API key.", "ADDRESS")
    ] = "127.0.0.1"
    port: Annotated[int, Flag("Listen on this port; 0 picks a free one.", "N")] = PORT
    open: Annotated[bool, Flag("Open the console in a browser.")] = False
    cors: Annotated[
        tuple[str, ...],
        Flag("Let pages of this site use the API with a key. Example: https://app.example.org. Repeatable.", "ORIGIN"),
    ] = ()
    allow_host: Annotated[
        tuple[str, ...],
        Flag("Also accept requests for this host name, for example behind a proxy. Repeatable.", "NAME"),
    ] = ()
    require_key: Annotated[bool, Flag("Require an API key on this machine, too. Behind a proxy, for example.")] = False
    tools: Tools = ()
    documents: Documents = None
    only_documents: OnlyDocuments = False
    approve: Annotated[
        tuple[str, ...],
        Flag("Approvals: ask (default), auto, never, or rules. Rules are those of run.", "POLICY"),
    ] = ()
    concurrency: Annotated[
        int | None,
        Flag("Run at most N steps of all runs at once. The default is LEADHAND_CONCURRENCY, else 1,000.", "N"),
    ] = None

    def lead(self, store: DriverFlags, models: ModelFlags, limits: LimitFlags) -> Leadhand:
        """Return the Leadhand of the server. Raises as open_lead does."""
        from leadhand.app.project.source_files import all_tools

        about: Any = {"documents": self.documents, "only_documents": self.only_documents, "approve": self.approve}
        return open_lead(store, models, limits, tools=all_tools(self.tools), concurrency=self.concurrency, **about)


async def serve(
    *,
    serving: Serving = Serving(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    store: DriverFlags = DriverFlags(),
) -> None:
    """Serve the HTTP API and the console.

    Runs started here survive the server: the next server on the same database resumes them. To listen on an address
    other machines can reach, create an API key first: leadhand keys create.
    """
    await serve_http(serving, models, limits, store)


async def serve_http(
    serving: Serving, models: ModelFlags, limits: LimitFlags, store: DriverFlags, *, mcp: bool = False
) -> None:
    """Serve the HTTP API and the console, and with ``mcp`` the MCP server at /mcp, until a signal ends the process."""
    host, port = serving.host, serving.port
    if not 0 <= port <= 65_535:
        raise UsageError(f"invalid value for --port: {port}", "Give a number from 0 to 65535.")
    origins = tuple(_origin(each) for each in serving.cors)
    kept = retention(None, None, store.loaded)
    import logging
    import webbrowser

    from leadhand.server.app import Doors, create_app
    from leadhand.server.console import built_console
    from leadhand.server.guard import LOOPBACK
    from leadhand.server.logs import log_start, reset_logging, set_up_logging
    from leadhand.server.service import Live
    from leadhand.server.serving import Server, bind

    added = mcp_library() if mcp else None
    live = Live()
    async with serving.lead(store, models, limits) as lead:
        runtime = await lead.runtime()
        runtime.texts.on_text = live.write
        local = host in LOOPBACK
        key_needed = serving.require_key or not local
        if key_needed and all(key.revoked_at is not None for key in await all_keys(runtime.database)):
            why = f"--host {host} is reachable from other machines and" if not local else "--require-key"
            raise ConfigurationError(
                f"{why} needs an API key", f"Create one first: {store.command('keys', 'create', 'NAME')}"
            )
        service = live.service(runtime, kept)
        hosts = LOOPBACK | {each.lower() for each in serving.allow_host} if local or serving.allow_host else None
        console = built_console()
        doors = Doors(key_needed=key_needed, hosts=hosts, origins=origins, local=local)
        app = create_app(service, doors=doors, console=console)
        async with contextlib.AsyncExitStack() as stack:
            listening = stack.enter_context(contextlib.closing(bind(host, port)))
            url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
            unpriced = ", ".join(runtime.choice.unpriced)
            about = {
                "model": f"{runtime.choice.models.default} ({runtime.choice.why})",
                **({"price": f"not known of {unpriced}: the budget cannot limit it"} if unpriced else {}),
                "database": database_name(runtime),
                "console": url if console is not None else "not built: uv sync --reinstall-package leadhand",
                "api": f"{url}/openapi.json",
                **({"mcp": f"{url}/mcp"} if added is not None else {}),
                "access": "with an API key: leadhand keys list" if key_needed else "this machine only, no key",
            }
            if added is not None:
                await stack.enter_async_context(added.offered(app))
            as_text = set_up_logging(runtime.settings.environment, sys.stderr, service.redactor)
            try:
                if as_text:
                    say(f"Leadhand {__version__}")
                    say_table(about.items())
                    say("Press Ctrl-C to stop. Runs in progress resume when you start it again.")
                else:
                    log_start(version=__version__, **about)
                write_line(url)
                if serving.open and not webbrowser.open(url):
                    logging.getLogger("leadhand.server").warning("Could not open a browser. Open %s yourself.", url)
                await Server(app).serve(sockets=[listening])
            finally:
                reset_logging()


def mcp_library() -> Any:
    """Return the module of the MCP server. Raises ConfigurationError without the library that it needs."""
    try:
        import leadhand.server.mcp as mcp
    except ImportError as error:
        raise ConfigurationError(
            f"the MCP server needs a library: {error}", 'Install it: uv add "leadhand[mcp]"'
        ) from error
    return mcp


def _origin(given: str) -> str:
    """Return an origin as browsers send it. Raises UsageError."""
    from urllib.parse import urlsplit

    parts = urlsplit(given.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query or parts.username:
        raise UsageError(f"invalid value for --cors: {given!r}", "Give the origin of a site: https://app.example.org")
    return f"{parts.scheme}://{parts.netloc.lower()}"
