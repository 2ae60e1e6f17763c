"""Providers with their own protocols, through pydantic-ai's model layer: its messages and clients, not its loop.

``connection`` and ``client`` do not import it, since importing is slow; the other modules are imported with the first
request.
"""
