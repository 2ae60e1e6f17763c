"""The calls of attempts: of models and tools, within their limits."""
