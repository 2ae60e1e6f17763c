"""The claims of an answer that nobody judged, for the documents that show it."""

from __future__ import annotations

from leadhand.core.state import RunState
from leadhand.core.work_result import Judgement
from leadhand.verify.claims import claims_of_answer


def judgement_of(state: RunState) -> Judgement:
    """Return what the claims of the answer of a run rest on; those that nobody judged are not checked."""
    finished = state.finished
    if finished is None or finished.judgement is not None:
        return Judgement() if finished is None or finished.judgement is None else finished.judgement
    claims = claims_of_answer(finished.answer, finished.value)
    return Judgement(claims=tuple(claims))
