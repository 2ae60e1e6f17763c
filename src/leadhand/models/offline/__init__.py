"""The built-in rule-based model: no key, no network, the same answer every time."""

from .model import OfflineModels

__all__ = ["OfflineModels"]
