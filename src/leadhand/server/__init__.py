"""The HTTP API, its live events, and the web console."""
