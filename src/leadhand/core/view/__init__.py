"""The view: what is shown of a run, as one document. Every entry of the log changes it by a merge patch.

Consoles, terminals and exporters use it instead of folding the log themselves.
"""

from .projection import Change as Change
from .projection import Projection as Projection
