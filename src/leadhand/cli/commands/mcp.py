"""``leadhand mcp``: the flows as tools for MCP clients."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.runtime.listings import retention
from leadhand.cli.commands.serve import Serving, mcp_library, serve_http
from leadhand.cli.options import DriverFlags, Flag, LimitFlags, ModelFlags
from leadhand.cli.terminal.streams import own_stdout


async def mcp(
    *,
    http: Annotated[bool, Flag("Serve /mcp over HTTP, beside the API and the console, instead of stdio.")] = False,
    serving: Serving = Serving(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    store: DriverFlags = DriverFlags(),
) -> None:
    """Offer Leadhand to MCP clients, such as Claude Desktop or Cursor.

    The tools are ask, report, research, run_status and answer_question. A client starts this command and talks to it
    over stdin and stdout. Runs survive it: the next server on the same database resumes them. With --http, the server
    listens as leadhand serve does, at /mcp; the flags of the address are only for that.

    Examples:
      leadhand mcp --offline
      leadhand mcp --budget 0.5 --project ~/shop/leadhand.toml
      leadhand mcp --http --port 8800
    """
    if http:
        await serve_http(serving, models, limits, store, mcp=True)
        return
    library = mcp_library()
    from leadhand.server.app import create_app
    from leadhand.server.service import Live

    live, kept = Live(), retention(None, None, store.loaded)
    async with serving.lead(store, models, limits) as lead:
        runtime = await lead.runtime()
        runtime.texts.on_text = live.write
        await library.serve_stdio(create_app(live.service(runtime, kept)), own_stdout())
