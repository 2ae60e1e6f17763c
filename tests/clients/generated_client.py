# /// script
# requires-python = ">=3.11"
# dependencies = ["openapi-python-client==0.29.1"]
# ///
"""Generate a Python client from a server's OpenAPI document, with default options, and use it: ``URL FOLDER``."""

import importlib
import subprocess
import sys
from typing import Any

url, folder = sys.argv[1:]
command = [
    sys.executable,
    "-m",
    "openapi_python_client",
    "generate",
    "--url",
    f"{url}/openapi.json",
    "--fail-on-warning",
]
subprocess.run([*command, "--output-path", folder], check=True)
sys.path.insert(0, folder)


def of(module: str, name: str) -> Any:
    """Something of the client: it was not there when this program was written."""
    return getattr(importlib.import_module(f"leadhand_client.{module}"), name)


def call(tag: str, name: str, *arguments: Any, **options: Any) -> Any:
    """What an operation answers, as an object of the client."""
    answered = of(f"api.{tag}.{name}", "sync_detailed")(*arguments, client=client, **options)
    assert answered.status_code < 300, answered.content
    return answered.parsed


client = of("client", "Client")(base_url=url, timeout=90)
asked = {"request": "What is the weather in Paris tomorrow?", "approve": {"tool:weather_tool": "ask"}}
run = call("runs", "start_run", body=of("models", "Submission").from_dict(asked), wait=60)
assert run.status == "waiting", run
for approval in run.approvals:
    decision = of("models", "AnswerBody")(decision=of("models", "AnswerBodyDecision").APPROVE)
    card = call("approvals", "answer_approval", approval.approval_id, body=decision)
    assert (card.status, card.approval_id) == ("approved", approval.approval_id), card
run = call("runs", "get_run", run.run_id, wait=60)
assert run.status == "succeeded", run
answer = call("runs", "get_answer", run.run_id)
assert answer.answer
assert answer.answer == run.answer
page = call("events", "get_events", run.run_id, limit=1_000)
assert [event.seq for event in page.events] == list(range(1, run.last_seq + 1))
follow_up = of("models", "FollowUp")("And in Lyon?")
assert call("control", "follow_up_run", run.run_id, body=follow_up).follows.run_id == run.run_id
print(answer.answer)
