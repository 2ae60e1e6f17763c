"""Model adapters behind one port: the offline model, OpenAI-compatible servers, other providers, and the router."""
