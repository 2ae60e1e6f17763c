"""What people are advised to do about failures."""

import re

from .errors import Failure
from .worker import Worker

_FLAGS = {"plan": "--lead-model", "compose": "--lead-model", "review": "--review-model", "work": "--worker-model"}
_ANY_FLAG = re.compile(r"\(--(?:lead-|worker-)?model\)")


def advised(failure: Failure, worker: Worker) -> Failure:
    """Return the failure of a worker; where its advice is another model, it says how the worker gets one."""
    where = f"in a follow-up or a new run: {_FLAGS.get(worker.model_role, '--model')}"
    where = f"the worker {worker.name} uses {worker.model}" if worker.model else where
    return failure.evolve(next_action=_ANY_FLAG.sub(lambda _: f"({where})", failure.next_action))
