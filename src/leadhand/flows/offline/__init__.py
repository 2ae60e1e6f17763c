"""What flows need to answer by rules: a small grammar of requests, and the type of a flow's offline rules."""
