"""Providers with protocols of their own, through pydantic-ai's model layer: its messages and clients, not its loop.

``connection`` and ``client`` import nothing of it, since a process that uses no such model must not pay for
it; the other modules are imported with the first request.
"""
