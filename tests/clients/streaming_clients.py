# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx==0.28.1", "httpx-sse==0.4.3", "requests>=2.32", "sseclient-py==1.9.0"]
# ///
"""Read a stream with the usual clients of Python, which break off and come back all the time: ``URL TOTAL``.

Print, as JSON, how often each of them connected, and the ids and data of the messages that it got.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import httpx
import httpx_sse
import requests
import sseclient

url, total = sys.argv[1], int(sys.argv[2])
STEP = max(1, total // 80)
"""Messages that a client takes before it breaks off."""


def of_httpx_sse(headers: dict[str, str]) -> Iterator[Any]:
    with httpx.Client(timeout=60) as client, httpx_sse.connect_sse(client, "GET", url, headers=headers) as source:
        yield from source.iter_sse()


def of_sseclient(headers: dict[str, str]) -> Iterator[Any]:
    with requests.get(url, headers=headers, stream=True, timeout=60) as response:
        yield from sseclient.SSEClient(response).events()


def read(connect: Any) -> dict[str, Any]:
    seen: list[tuple[str, Any]] = []
    connections = 0
    while len(seen) < total:
        connections += 1
        with closing(connect({"last-event-id": seen[-1][0]} if seen else {})) as stream:
            for each in islice(stream, STEP):
                assert each.data, each
                if each.event == "message":
                    seen.append((each.id, json.loads(each.data)))
    return {"connections": connections, "seen": seen}


print(json.dumps({connect.__name__: read(connect) for connect in (of_httpx_sse, of_sseclient)}))
