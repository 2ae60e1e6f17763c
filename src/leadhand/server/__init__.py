"""Door: the HTTP API, its live events, and the console in a browser."""
