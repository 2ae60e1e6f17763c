"""The page at ``/docs``: every route of the OpenAPI document, as plain HTML without external resources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

METHODS = ("get", "post", "patch", "delete")
STYLE_PATH = "/docs/style.css"
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; }
code, pre { font: 0.875rem/1.5 ui-monospace, monospace; }
pre { background: light-dark(#f4f4f2, #1e1f22); overflow-x: auto; padding: 0.75rem 1rem; border-radius: 6px; }
section { border-top: 1px solid light-dark(#ddd, #3a3a3d); margin-top: 2rem; }
h3 { margin: 1.5rem 0 0.25rem; }
h3 code { font-size: 1rem; }
.method { display: inline-block; font-weight: 700; min-width: 4.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid light-dark(#e6e6e6, #333); padding: 0.25rem 1rem 0.25rem 0; text-align: left;
  vertical-align: top; }
a { color: light-dark(#0b57d0, #9ec1ff); }
"""

Document = Mapping[str, Any]


def add_api_page(app: FastAPI) -> None:
    """Serve the page and its style sheet, since the content security policy forbids inline styles."""

    async def page(_: Request) -> Response:
        return HTMLResponse("".join(_page(app.openapi())))

    async def style(_: Request) -> Response:
        return Response(STYLE, media_type="text/css")

    app.add_route("/docs", page, include_in_schema=False)
    app.add_route(STYLE_PATH, style, include_in_schema=False)


def _page(document: Document) -> Iterator[str]:
    info = document["info"]
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
    yield f"<title>{escape(info['title'])} API</title>"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<link rel="stylesheet" href="{STYLE_PATH}"><main><h1>{escape(info["title"])} API</h1>'
    yield f"<p>{escape(info['description'])}</p>"
    yield '<p>The same for programs: <a href="/openapi.json">openapi.json</a>. The console: <a href="/">/</a>.</p>'
    for tag, routes in _by_tag(document).items():
        yield f'<section><h2 id="{escape(tag)}">{escape(tag)}</h2>'
        for method, path, operation in routes:
            yield from _route(document, method, path, operation)
        yield "</section>"
    yield "</main></html>"


def _by_tag(document: Document) -> dict[str, list[tuple[str, str, Document]]]:
    found: dict[str, list[tuple[str, str, Document]]] = {}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                found.setdefault(operation.get("tags", ["other"])[0], []).append((method, path, operation))
    return found


def _route(document: Document, method: str, path: str, operation: Document) -> Iterator[str]:
    name = escape(operation["operationId"])
    yield f'<h3 id="{name}"><code><span class="method">{method.upper()}</span> {escape(path)}</code></h3>'
    yield f"<p>{escape(operation.get('description', ''))}</p>"
    rows = [
        (parameter["name"], parameter["in"], parameter.get("required", False), parameter.get("description", ""))
        for parameter in operation.get("parameters", ())
        if parameter["in"] != "cookie"
    ]
    body = _body(document, operation)
    if body is not None:
        required = body.get("required", ())
        rows += [
            (each, "body", each in required, shape.get("description", "")) for each, shape in body["properties"].items()
        ]
    if rows:
        yield "<table><thead><tr><th>Name<th>In<th>Required<th>Description</thead><tbody>"
        for each, where, needed, what in rows:
            yield f"<tr><td><code>{escape(each)}</code><td>{where}<td>{'yes' if needed else ''}<td>{escape(what)}"
        yield "</tbody></table>"
    for example in (body or {}).get("examples", ())[:1]:
        yield f"<pre>{escape(_curl(method, path, example))}</pre>"
    statuses = [f"{status} {escape(each['description'])}" for status, each in operation["responses"].items()]
    yield f"<p>Answers: {', '.join(statuses)}</p>"


def _body(document: Document, operation: Document) -> Document | None:
    content = operation.get("requestBody", {}).get("content", {})
    schema: Document = content.get("application/json", {}).get("schema", {})
    choices: list[Document] = [schema, *schema.get("anyOf", ())]
    for each in choices:
        if "$ref" in each:
            found = document["components"]["schemas"][each["$ref"].rpartition("/")[2]]
            return found if found.get("properties") else None
    return None


def _curl(method: str, path: str, example: Any) -> str:
    body = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
    return f"curl -X {method.upper()} localhost:8700{path} -H 'content-type: application/json' \\\n  -d '{body}'"
