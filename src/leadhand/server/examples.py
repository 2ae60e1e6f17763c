"""Examples of what the API returns, by the name of the shape: the OpenAPI document shows them."""

from __future__ import annotations

from typing import Any

from leadhand.app.document.shapes import RunLimits
from leadhand.core.approval import Approval
from leadhand.core.tool import Effect, ToolSpec

RUN_ID = "run_01m7zh2rmzdvjq26wwj6s9pcjw"
CREATED, FINISHED = "2026-11-21T17:04:51.872Z", "2026-11-21T17:04:52.001Z"
REQUEST = "What is the weather in Paris tomorrow?"

RUN: dict[str, Any] = {
    "run_id": RUN_ID,
    "flow": "work-order",
    "request": REQUEST,
    "name": "",
    "tags": {"team": "travel"},
    "status": "succeeded",
    "owner": None,
    "model": "offline",
    "detached": True,
    "created_at": CREATED,
    "finished_at": FINISHED,
    "last_seq": 28,
}
"""The common fields of a run's document and its list line."""

EXAMPLES: dict[str, dict[str, Any]] = {
    "RunLine": {
        **RUN,
        "orphan": False,
        "follows": None,
        "subtasks": 1,
        "completed": 1,
        "failed": 0,
        "asking": 0,
        "requests": 2,
        "tokens": 1_900,
        "cost_usd": 0.0,
    },
    "RunDocument": {
        **RUN,
        "outcome": {"headline": "The run succeeded", "causes": [], "actions": []},
        "answer": "Light rain, 7 to 14 °C [1].",
        "value": None,
        "sample": False,
        "evidence": {
            "confirmed": 1,
            **dict.fromkeys(("derived", "own_words", "unconfirmed", "contradicted", "not_checked"), 0),
            "judged_by": "gpt-5-mini",
            "judge_rates": None,
            "doubts": [],
        },
        "claims": [
            {
                "n": 1,
                "text": "Light rain, 7 to 14 °C [1].",
                "cites": ["1"],
                "start": 0,
                "end": 27,
                "verdict": "confirmed",
            }
        ],
        "done": [],
        "calls": 1,
        "failed_calls": 0,
        "question": None,
        "sources": [{"title": "Open-Meteo", "url": "https://open-meteo.com/", "event_id": "e-19"}],
        "failure": None,
        "work_orders": [
            {
                "work_order_id": "wo-001",
                "goal": REQUEST,
                "subtasks": [
                    {"name": "check_weather", "args": {"location": "Paris", "day": "tomorrow"}, "tool": "weather_tool"}
                ],
            }
        ],
        "work_state": None,
        "task": None,
        **{name: [] for name in ("gaps", "earlier_answers", "steps", "work_states", "todos", "artifacts", "approvals")},
        "context_store": {"events": []},
        "usage": {
            "requests": 2,
            "input_tokens": 1_700,
            "cached_tokens": 0,
            "cache_write_tokens": 0,
            "output_tokens": 200,
            "cost_usd": 0.0,
        },
        "limits": RunLimits(budget_usd=1.0).model_dump(mode="json"),
        "proposed_limits": {},
        "instructions": {},
        "tools": ["weather_tool", "directions_tool"],
        "hooks": [],
        "plan_only": False,
        "approve_plan": False,
        "models": {},
        "priority": 0,
        "waits_for": "",
        "queue_position": None,
        "forked_from": None,
        "follows": {"run_id": RUN_ID, "request": REQUEST},
        "followed_by": [],
        "offline": True,
    },
    "EventDocument": {
        "seq": 12,
        "at": CREATED,
        "epoch": 1,
        "type": "tool_call_began",
        "attempt": "wo-001.0/a1",
        "call_id": "wo-001.0/t0/c0",
        "tool": "weather_tool",
        "args": {"location": "Paris", "day": "tomorrow"},
        "effect": "pure",
        "words": {
            "title": "Tool call started",
            "text": "weather_tool",
            "subject": "wo-001.0",
            "tone": "info",
            "level": "detail",
            "topics": ["tools"],
        },
    },
    "ApprovalCard": {
        "id": "1a2b3c4d",
        "run_id": RUN_ID,
        "call_id": "wo-001.0/t0/c0",
        "request": "Send Ann the offer",
        "driven": False,
        **Approval(
            approval_id="wo-001.0/t0/c0",
            attempt="wo-001.0/a1",
            tool="send_mail",
            args={"to": "ann@example.org"},
            effect=Effect.ONCE,
            asked_for="wo-001.0",
            origins={"to": "the plan"},
        ).model_dump(mode="json"),
        "asked_at": CREATED,
        "name": "send_the_offer",
        "hook": "",
        "hook_reason": "",
        "preview": None,
    },
    "ToolDocument": {
        **ToolSpec(
            name="weather_tool",
            description="Current weather or the forecast.",
            parameters={"type": "object", "properties": {"location": {"type": "string"}}},
            import_path="leadhand.tools.weather:weather_tool",
        ).model_dump(mode="json"),
        "last_error": None,
        "flows": [],
    },
    "ToolTrial": {
        "task_name": "weather_tool",
        "ok": True,
        "data": {"summary": "Light rain", "raw": {}, "sources": [], "sample": False},
    },
    "FlowDocument": {
        "name": "report",
        "version": 1,
        "description": "Write a report: plan, research in parallel, write with citations, review and revise.",
        "options": {"type": "object", "properties": {"max_revisions": {"type": "integer", "default": 1}}},
        "agents": {"fact-checker": "Check the facts of a draft."},
    },
    "WorkerDocument": {
        "name": "deck_evaluator",
        "description": "Evaluates one pitch deck.",
        "source": "generated",
        "path": f"generated/{RUN_ID}/deck_evaluator.worker",
        "model": None,
        "tools": ["web_search"],
        "toolsets": [],
        "limits": {"max_turns": 12},
        "input": None,
        "output": None,
        "instructions": "Judge the pitch deck.",
        "text": "---\nname: deck_evaluator\n…",
        "run_id": RUN_ID,
        "made_by": "orchestrator",
        "version": 2,
        "runs": [RUN_ID],
        "problem": None,
    },
    "WorkerPromotion": {
        "name": "deck_evaluator",
        "path": "workers/deck_evaluator.worker",
        "diff": "--- a/workers/deck_evaluator.worker\n…",
        "exists": False,
        "digest": "7d865e959b2466918c9863afca942d0f",
    },
    "SessionDocument": {
        "authenticated": True,
        "needed": False,
        "name": "ann",
        "scopes": ["read", "run", "approve", "admin"],
        "ceilings": {
            "budget": 1.0,
            "budget_per_day": 10.0,
            "budget_total": None,
            "max_runs": 5,
            "max_workers": None,
            "max_running_steps": None,
        },
        "version": "0.1.0",
    },
    "SystemDocument": {
        "version": "0.1.0",
        "python": "3.11.7",
        "platform": "Linux x86_64",
        "started_at": CREATED,
        "database": {"name": "leadhand.db", "kind": "sqlite", "schema": 2, "bytes": 40_960, "runs": {"succeeded": 1}},
        "model": {"name": "offline", "why": "no provider key is set"},
        "hosts": [],
        "streams": 0,
        "driving": 0,
        "console": True,
        "retention": {"keep_for_s": 2_592_000, "keep_runs": None, "expired": 0, "deleted": 3, "checked_at": CREATED},
        "checks": [],
    },
}
