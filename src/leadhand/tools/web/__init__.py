"""The tools that find and read sources: ``web_search`` and ``web_fetch``.

Runs have them only if a worker of their flow names them, or if they were added: ``--tools leadhand.tools.web``.
"""

from .tools import web_fetch, web_search

__all__ = ["web_fetch", "web_search"]
