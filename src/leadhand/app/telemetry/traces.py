"""The trace that a run belongs to. Imports nothing of OpenTelemetry: documents and logs name it, too."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?")


def callers_span(headers: Sequence[str]) -> str:
    """Return the span of the W3C ``traceparent`` headers of a request, in version 00 of its format; "" for none.

    As the standard says, a malformed header is ignored, as are several, and a later version is read as far as version
    00 goes.
    """
    found = _TRACEPARENT.fullmatch(headers[0].strip()) if len(headers) == 1 else None
    return "" if found is None or (found[1] == "00" and found[3]) else f"00-{found[2]}"


def span_above(run_id: str, traceparent: str) -> tuple[str, str, str]:
    """Return the trace, the span above all spans of a run, and the flags, in hexadecimal digits.

    They are those of the caller, if it sent a ``traceparent``, else the same in every process: 16 and 8 bytes of the
    SHA-256 of the run's id.
    """
    if traceparent:
        _, trace, span, flags = traceparent.split("-")
        return trace, span, flags
    digest = hashlib.sha256(run_id.encode()).hexdigest()
    return digest[:32], digest[32:48], "01"
