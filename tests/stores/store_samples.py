"""Events of every type with their fields filled in, as the store has them: the golden log, ``golden/log.jsonl``.

For an event or a field that is new, add a line to that file, or add to one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leadhand.core.events import EVENT_TYPES, AnyEvent
from leadhand.stores.codec import moment

GOLDEN = Path(__file__).with_name("golden") / "log.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
AT = moment(ROWS[0]["at"] - 1)
SAMPLES: tuple[AnyEvent, ...] = tuple(EVENT_TYPES[row["type"]].model_validate_json(row["body"]) for row in ROWS)
