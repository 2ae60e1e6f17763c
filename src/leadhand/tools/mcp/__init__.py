"""Tools of MCP servers: what names a server (`source`), its connection, and what its calls return and ask."""
