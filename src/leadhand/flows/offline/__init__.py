"""A small grammar of requests, and the type of offline rules, for flows that answer by rules."""
