"""Providers with their own protocols, through pydantic-ai's model layer: its messages and clients, not its loop.

Importing it is slow: ``connection`` and ``client`` do not; the other modules are imported with the first request.
"""
