"""Models behind the one port: the built-in one, any OpenAI-compatible server, and the router that picks."""
