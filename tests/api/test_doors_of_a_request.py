"""Python, HTTP and the command line describe a request by the same fields, but for those that stand here."""

from __future__ import annotations

import inspect
from dataclasses import fields

from leadhand import Leadhand
from leadhand.cli.commands.run import Job
from leadhand.cli.options import FlowFlags, ModelFlags
from leadhand.server.start_request import Submission

MODELS = {"lead_model": "model", "worker_model": "model", "review_model": "model", "offline": "model"}
"""Names by use are one mapping in Python; the name ``offline`` is a model there."""
HTTP = {**MODELS, "output_schema": "output", "inputs": "options"}
COMMAND_LINE = {
    **HTTP,
    "only_tool": "tools",
    "tag": "tags",
    "option": "options",
    "solo": "flow",
}
ONLY_PYTHON = {"deps"}
"""Objects of a program."""
NOT_HTTP = {*ONLY_PYTHON, "documents"}
"""A directory of the server is chosen by who starts it."""
NOT_COMMAND_LINE = {*ONLY_PYTHON, "request", "limits", "messages"}
"""The request is an argument, each limit is a flag, and ``--continue`` continues a conversation."""
ONLY_COMMAND_LINE = {"detach", "continue_"}


def test_the_doors_have_the_same_fields() -> None:
    python = {*inspect.signature(Leadhand.start).parameters} - {"self"}
    http = {HTTP.get(name, name) for name in Submission.model_fields}
    flags = {COMMAND_LINE.get(each.name, each.name) for kind in (Job, ModelFlags, FlowFlags) for each in fields(kind)}
    assert python - NOT_HTTP == http
    assert python - NOT_COMMAND_LINE == flags - ONLY_COMMAND_LINE
