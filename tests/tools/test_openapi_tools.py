"""The operations of an OpenAPI document are tools: what they send arrives as it was given, what comes back is checked,
and keys and addresses stay where they belong."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from aiohttp import web
from apis import HERE, PETSTORE, Api, star_trek
from hypothesis import given
from hypothesis import strategies as st

from leadhand import ConfigurationError, ToolError, UsageError
from leadhand.core.secret import declares_secret
from leadhand.core.tool import Effect
from leadhand.engine.gate import schema_problems
from leadhand.engine.tool_returns import Unreadable, returned_value
from leadhand.ports import ToolContext
from leadhand.tools.openapi import connection, openapi
from leadhand.tools.openapi.document import Document
from leadhand.tools.openapi.operations import FORM, pairs
from leadhand.tools.toolbox import Toolbox
from leadhand.tools.web import fetching
from leadhand.tools.web.fetching import PageFetcher, is_public

OK: dict[str, Any] = {"responses": {"200": {"description": "ok"}}}


def document(**operation: Any) -> dict[str, Any]:
    """Return a document of one operation, ``POST /things`` unless ``method`` and ``path`` say otherwise."""
    method, path = operation.pop("method", "post"), operation.pop("path", "/things")
    whole = {each: operation.pop(each) for each in ("openapi", "servers", "components") if each in operation}
    return {
        "openapi": "3.1.0",
        "info": {},
        "paths": {path: {method: {"operationId": "act", **OK, **operation}}},
    } | whole


def written(folder: Path, given: dict[str, Any], name: str = "things.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(given) if name.endswith("json") else yaml.safe_dump(given))
    return path


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with Api().open() as api:
        yield api


Connected = Callable[..., Any]


@asynccontextmanager
async def tools_of(path: Path | str, environment: dict[str, str] | None = None, **given: Any) -> AsyncGenerator[Any]:
    """Yield the tools of a document by name, as they call their API."""
    connection = openapi(path, **given).connect(environment or {})
    try:
        found = await connection.tools()
        yield {each.name: connection.bind(each.spec) for each in found} | {"specs": {t.name: t.spec for t in found}}
    finally:
        await connection.aclose()


@pytest.fixture
def act(tmp_path: Path, api: Api, context: ToolContext) -> Callable[..., Any]:
    """Calls the one operation of a document, as the engine does, and returns what it returned."""

    async def make(given: dict[str, Any], args: dict[str, Any] | None = None, **how: Any) -> Any:
        async with tools_of(written(tmp_path, given), **{"base_url": api.url, **how}) as tools:
            spec = tools["specs"]["act"]
            assert schema_problems(spec.parameters, args or {}) == []
            return returned_value(await tools["act"].call(args or {}, context), spec.output).raw

    return make


# --- documents -------------------------------------------------------------------------------------------------------


async def test_up_to_twenty_operations_are_tools_with_the_effects_of_their_methods() -> None:
    async with tools_of(PETSTORE, base_url="http://127.0.0.1:1") as tools:
        specs = tools["specs"]
    assert len(specs) == 19  # an upload of a file is left out
    assert {name: specs[name].effect for name in ("getPetById", "updatePet", "deletePet", "addPet")} == {
        "getPetById": Effect.PURE,
        "updatePet": Effect.IDEMPOTENT,
        "deletePet": Effect.IDEMPOTENT,
        "addPet": Effect.ONCE,
    }
    assert specs["addPet"].import_path == "openapi:petstore:addPet"
    assert specs["addPet"].origin == "openapi:petstore"
    assert schema_problems(specs["addPet"].parameters, {"body": {"name": "Rex", "photoUrls": []}}) == []
    assert schema_problems(specs["addPet"].parameters, {"body": {"name": 5}})
    assert schema_problems(specs["findPetsByStatus"].output, [{"name": "Rex"}])


@pytest.mark.parametrize(
    ("given", "args", "fits"),
    [
        ({"openapi": "3.0.3"}, {"n": None}, True),
        ({"openapi": "3.0.3"}, {"n": 3}, False),
        ({"openapi": "3.0.3"}, {"n": 4}, True),
        ({"openapi": "3.0.3"}, {"next": {"n": 4, "next": {"n": None}}}, True),
        ({"openapi": "3.0.3"}, {"next": {"n": 4, "next": {"n": 3}}}, False),
        ({"openapi": "3.0.3"}, {"id": "chosen by the server"}, False),
        ({"openapi": "3.0.3"}, {}, True),
    ],
)
@pytest.mark.parametrize("name", ["things.json", "things.yaml"])
async def test_schemas_of_3_0_keep_their_meaning(
    tmp_path: Path, name: str, given: dict[str, Any], args: dict[str, Any], fits: bool
) -> None:
    number = {"type": "integer", "minimum": 3, "exclusiveMinimum": True, "nullable": True, "example": 5}
    properties = {
        "n": number,
        "next": {"$ref": "#/components/schemas/Thing"},
        "id": {"type": "string", "readOnly": True},
        "example": {"type": "string"},
    }
    thing = {"type": "object", "properties": properties, "required": ["id"], "additionalProperties": False}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}
    whole = document(requestBody=body, components={"schemas": {"Thing": thing}}, **given)
    async with tools_of(written(tmp_path, whole, name), base_url="http://127.0.0.1:1") as tools:
        assert (schema_problems(tools["specs"]["act"].parameters, {"body": args}) == []) is fits


AT: dict[str, Any] = {"servers": [{"url": "https://things.test"}]}
LOOP = {"$ref": "#/components/x"}
MATRIX = {"name": "id", "in": "path", "style": "matrix", "required": True}
PIPES = {"name": "id", "in": "query", "style": "pipeDelimited"}
ALIAS = b"openapi: 3.1.0\npaths: {/a: &a {get: {}}, /b: *a}\n"


@pytest.mark.parametrize(
    "operation",
    [
        {"path": "/{id}", "parameters": [MATRIX]},
        {"path": "/{id}", "parameters": []},
        {"parameters": [{**PIPES, "required": True}]},
        {"parameters": [{"name": "id", "in": "cookie", "required": True}]},
        {"parameters": [{"name": "id", "in": "query", "required": True, "content": {"application/json": {}}}]},
        {"requestBody": {"content": {"multipart/form-data": {}}}},
        {"requestBody": {"content": {"application/octet-stream": {}}}},
        {"requestBody": {"content": {FORM: {"encoding": {"a": {"style": "deepObject"}}}}}},
        {"servers": [{"url": "https://elsewhere.test"}]},
    ],
)
async def test_an_operation_that_cannot_be_sent_is_left_out_and_named(
    tmp_path: Path, operation: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    own = {"servers": operation.pop("servers")} if "servers" in operation else {}
    content = document(**operation, **AT)
    next(iter(content["paths"].values()))["post"] |= own
    content["paths"]["/b"] = {"get": {"responses": {}, "operationId": "fit"}}
    path = written(tmp_path, content)

    assert [each.name for each in await openapi(path).connect({}).tools()] == ["fit"]
    assert "act" in caplog.records[0].getMessage()
    with pytest.raises(ConfigurationError, match="act"):
        await openapi(path, include=[f"POST {operation.get('path', '/things')}"]).connect({}).tools()


async def test_an_optional_parameter_that_cannot_be_sent_is_no_argument(act: Any, api: Api) -> None:
    parameters = [PIPES, {"name": "seen", "in": "cookie"}, {"name": "n", "in": "query"}]
    await act(document(method="get", parameters=parameters), {"n": 1})
    assert (api.received[0].query, "Cookie" in api.received[0].headers) == ([("n", "1")], False)


async def test_words_of_yaml_stay_words(tmp_path: Path) -> None:
    path = tmp_path / "things.yaml"
    path.write_text(
        "openapi: 3.1.0\nservers: [{url: https://things.test}]\npaths:\n  /a:\n    get:\n      operationId: a\n"
        "      parameters: [{name: land, in: query, schema: {enum: [NO, on, 2026-11-30], deprecated: true}}]\n"
    )
    (made,) = await openapi(path).connect({}).tools()
    land = made.spec.parameters["properties"]["land"]
    assert (land["enum"], land["deprecated"]) == (["NO", "on", "2026-11-30"], True)


@pytest.mark.parametrize(
    ("content", "how"),
    [
        (json.dumps({"swagger": "2.0", "paths": {}}), "npx swagger2openapi"),
        ("<html><body>API</body></html>", "openapi.json"),
        ("{broken", "version 3"),
        (b"\xff\xfe\x00", "version 3"),
        (ALIAS, "version 3"),
        (json.dumps(document()), "base_url"),
        (json.dumps(document(servers=[{"url": "https://{region}.test"}])), "base_url"),
        (json.dumps({"openapi": "3.1.0", "paths": {}, **AT}), "another document"),
        (json.dumps(document(requestBody={"$ref": "other.yaml#/Body"}, **AT)), "redocly"),
        (
            json.dumps(document(requestBody=LOOP, components={"x": LOOP}, **AT)),
            "Corr",
        ),
        (None, "file or URL"),
    ],
)
async def test_a_document_that_cannot_be_used_is_refused_with_a_way_out(
    tmp_path: Path, content: str | bytes | None, how: str
) -> None:
    path = tmp_path / "things.yaml"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    connection = openapi(path).connect({})
    with pytest.raises(ConfigurationError) as refused:
        await connection.tools()
    assert how in refused.value.how
    await connection.aclose()


@pytest.mark.parametrize(
    ("include", "names"),
    [
        (["getPetById"], ["getPetById"]),
        (["GET /store/*"], ["getInventory", "getOrderById"]),
        (["tag:store", "delete*"], 6),
        (["nothing"], ConfigurationError),
    ],
)
async def test_include_chooses_operations(include: list[str], names: Any) -> None:
    if names is ConfigurationError:
        with pytest.raises(ConfigurationError, match="nothing"):
            async with tools_of(PETSTORE, include=include, base_url="http://127.0.0.1:1"):
                pass
        return
    async with tools_of(PETSTORE, include=include, base_url="http://127.0.0.1:1") as tools:
        assert [*tools["specs"]] == names if isinstance(names, list) else len(tools["specs"]) == names


@pytest.mark.parametrize(
    ("effects", "changed"),
    [
        ({"deletePet": "once"}, {"deletePet": "once"}),
        ({"DELETE *": "once"}, {"deletePet": "once", "deleteOrder": "once", "deleteUser": "once"}),
        ({"deleteO*": "once", "tag:store": "pure"}, {"deleteOrder": "once", "placeOrder": "pure"}),
        ({"POST /pet/{petId}": "idempotent"}, {"updatePetWithForm": "idempotent"}),
    ],
)
async def test_a_project_says_what_operations_do(effects: dict[str, str], changed: dict[str, str]) -> None:
    at = "http://127.0.0.1:1"
    async with tools_of(PETSTORE, base_url=at) as usual, tools_of(PETSTORE, base_url=at, effects=effects) as tools:
        usually = {name: spec.effect for name, spec in usual["specs"].items()}
        assert {name: each.effect for name, each in tools["specs"].items() if each.effect != usually[name]} == changed
        same = [spec.fingerprint == usual["specs"][name].fingerprint for name, spec in tools["specs"].items()]
        assert all(same)  # so that a run goes on when the settings change
    with pytest.raises(ConfigurationError, match="removePet"):
        await openapi(PETSTORE, base_url=at, effects={**effects, "removePet": "once"}).connect({}).tools()
    with pytest.raises(UsageError):
        openapi(PETSTORE, effects={"deletePet": "twice"})


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["pets/list-all", "pets.list-all"], ["pets_list_all", "pets_list_all_2"]),
        ([None, None], ["get_a_id", "get_b"]),
        (["2nd", "x" * 90], ["_2nd", None]),
    ],
)
async def test_operations_get_names_that_models_and_orders_can_use(
    tmp_path: Path, ids: list[str | None], names: list[str | None]
) -> None:
    operations = [{**OK, **({"operationId": each} if each else {})} for each in ids]
    paths = {path: {"get": each} for path, each in zip(("/a/id", "/b"), operations, strict=True)}
    path = written(tmp_path, {"openapi": "3.1.0", "paths": paths})
    async with tools_of(path, base_url="http://127.0.0.1:1") as tools:
        found = [*tools["specs"]]
    assert all(mine == name for mine, name in zip(found, names, strict=True) if name)
    assert max(map(len, found)) <= 64


@pytest.mark.parametrize(
    ("document", "name"),
    [("my pets.json", "my_pets"), ("https://api.example.org/v1/openapi.json", "example"), ("http://x/a.json", "x")],
)
def test_a_source_is_named_after_its_file_or_host(document: str, name: str) -> None:
    assert openapi(document).name == name
    with pytest.raises(UsageError):
        openapi(document, name="not a name")


# --- what is sent ----------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
SCALARS = TEXT | st.integers() | st.booleans()
LISTS = st.lists(SCALARS, min_size=1, max_size=4)


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@given(value=SCALARS | LISTS, name=TEXT)
@pytest.mark.parametrize("explode", [True, False])
def test_a_query_parses_back_to_what_was_given(explode: bool, value: Any, name: str) -> None:
    sent = [each.split("=") for each in pairs(name, value, explode=explode)]
    assert {unquote(key, errors="strict") for key, _ in sent} == {name}
    items = [each for _, each in sent] if explode else sent[0][1].split(",")
    assert [unquote(each) for each in items] == [*map(plain, value if isinstance(value, list) else [value])]


PLACED = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
    {"name": "id", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
    {"name": "filter[x]", "in": "query", "explode": False, "schema": {"type": "array"}},
    {"name": "X-Tags", "in": "header", "schema": {"type": "array", "items": {"type": "string"}}},
    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
]


async def test_parameters_arrive_in_their_places(act: Any, api: Api) -> None:
    args = {
        "id": "a/b?ü",
        "query_id": ["1", "2,3"],
        "filter_x": ["a", 1],
        "X-Tags": ["x", "ö y"],
    }
    await act(document(method="get", path="/things/{id}", parameters=PLACED), args)
    (seen,) = api.received
    assert seen.line == "GET /things/a%2Fb%3F%C3%BC"
    assert seen.query == [("id", "1"), ("id", "2,3"), ("filter[x]", "a,1")]
    assert seen.headers["X-Tags"] == "x,ö y"
    assert "Authorization" not in seen.headers


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", each) for each in ("..", ".", "", "../x", "a/../b", "a\\..\\b", "a/..", {"a": 1})]
    + [("X", "a\r\nHost: b"), ("X", "\0")],
)
async def test_no_value_leaves_its_part_of_a_request(act: Any, api: Api, name: str, value: Any) -> None:
    parameters = [{**PLACED[0], "schema": {}}, {"name": "X", "in": "header", "schema": {"type": "string"}}]
    with pytest.raises(ToolError) as refused:
        await act(document(method="delete", path="/things/{id}", parameters=parameters), {"id": "a", name: value})
    assert refused.value.failure.type == "bad_arguments"
    assert api.received == []


BODY = {"name": "ü&=", "tags": ["a", "b"], "deep": {"n": 1}, "no": None, "none": []}
PROPERTIES: dict[str, Any] = {
    "name": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "deep": {"type": "object"},
}


@pytest.mark.parametrize(
    ("media_type", "value"),
    [
        ("application/json", BODY),
        ("application/vnd.api+json", [1, None]),
        ("application/x-www-form-urlencoded", BODY),
    ],
)
async def test_a_body_arrives_as_its_media_type_says(act: Any, api: Api, media_type: str, value: Any) -> None:
    schema = {} if not isinstance(value, dict) else {"type": "object", "properties": PROPERTIES}
    content = {"text/csv": {}, media_type: {"schema": schema}}
    await act(document(requestBody={"required": True, "content": content}), {"body": value})
    (seen,) = api.received
    assert seen.headers["Content-Type"].partition(";")[0] == media_type
    if "json" in media_type:
        assert json.loads(seen.body) == value
    else:
        assert seen.form == {"name": ["ü&="], "tags": ["a", "b"], "deep": ['{"n":1}']}


async def test_a_body_and_a_parameter_of_one_name_are_two_arguments(act: Any, api: Api) -> None:
    parameters = [{"name": "body", "in": "query", "schema": {"type": "string"}}]
    content = {"application/json": {"schema": {"type": "object"}}}
    given = document(parameters=parameters, requestBody={"content": content})
    await act(given, {"body": "q", "body_body": {"body": 1}})
    assert (api.received[0].query, json.loads(api.received[0].body)) == ([("body", "q")], {"body": 1})


@pytest.mark.parametrize("method", ["post", "put"])
async def test_a_call_that_happens_once_carries_its_key_where_the_api_asks_for_one(
    act: Any, api: Api, context: ToolContext, method: str
) -> None:
    parameters = [{"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}]
    given = {} if method == "post" else {"Idempotency-Key": "mine"}
    await act(document(method=method, parameters=parameters), given)
    assert api.received[0].headers["Idempotency-Key"] == (context.call_id if method == "post" else "mine")


async def test_a_document_says_which_arguments_are_secrets(tmp_path: Path) -> None:
    user = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}, "name": {"type": "string"}}}
    parameters = [{"name": "token", "in": "header", "schema": {"type": "string", "format": "password"}}]
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}}
    given = document(parameters=parameters, requestBody=body, components={"schemas": {"User": user}}, **AT)
    async with tools_of(written(tmp_path, given)) as tools:
        schema = tools["specs"]["act"].parameters
    paths = [("token",), ("body", "pin"), ("body", "name")]
    assert [declares_secret(schema, path) for path in paths] == [True, True, False]


SCHEMES = {
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "ask": {"type": "apiKey", "in": "query", "name": "key"},
    "crumb": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "login": {"type": "oauth2", "flows": {}},
    "basic": {"type": "http", "scheme": "basic"},
}


@pytest.mark.parametrize(
    ("scheme", "where"),
    [
        ("head", ("X-Key", "a:b")),
        ("ask", ("key", "a:b")),
        ("crumb", ("Cookie", "sid=a:b")),
        ("bearer", ("Authorization", "Bearer a:b")),
        ("login", ("Authorization", "Bearer a:b")),
        ("basic", ("Authorization", "Basic YTpi")),
        ("X-Other", ("X-Other", "a:b")),
    ],
)
async def test_keys_from_the_environment_go_where_their_scheme_says(
    act: Any, api: Api, scheme: str, where: tuple[str, str]
) -> None:
    given = document(method="get", components={"securitySchemes": SCHEMES}, security=[{scheme: []}])
    await act(given, headers={scheme: "env:TOKEN"}, environment={"TOKEN": "a:b"})
    assert where in {**api.received[0].headers, **dict(api.received[0].query)}.items()
    with pytest.raises(ConfigurationError, match="TOKEN"):
        openapi("things.json", headers={scheme: "env:TOKEN"}).connect({})


# --- what comes back -------------------------------------------------------------------------------------------------

THING = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
RETURNS = {"200": {"content": {"application/json": {"schema": THING}}}, "204": {"description": "nothing"}}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"n": 1, "more": True}, {"n": 1, "more": True}),
        (web.Response(status=204), None),
        ({"n": "one"}, "bad_result"),
        (web.Response(text="fine"), "bad_result"),
        (web.Response(text="{", content_type="application/json"), "bad_result"),
        (web.Response(body=b"x" * 6_000_000), "bad_result"),
    ],
)
async def test_a_success_is_checked_against_its_schema(act: Any, api: Api, answer: Any, value: Any) -> None:
    api.answers["*"] = answer
    if not isinstance(value, str):
        assert await act(document(responses=RETURNS)) == value
        return
    with pytest.raises(Unreadable) as refused:  # of a call that acted: it stays made
        await act(document(responses=RETURNS))
    assert refused.value.failure.type == value


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (web.Response(text="fine"), "fine"),
        ([1], [1]),
        (web.Response(body=b"\x89PNG", content_type="image/png"), {"media_type": "image/png", "bytes": 4}),
    ],
)
async def test_what_has_no_schema_is_returned_as_it_is_or_described(
    act: Any, api: Api, answer: Any, value: Any
) -> None:
    api.answers["*"] = answer
    found = await act(document(method="get"))
    assert found == value


@pytest.mark.parametrize(
    ("status", "class_"),
    [
        (400, "invalid"),
        (404, "invalid"),
        (409, "invalid"),
        (422, "invalid"),
        (401, "unavailable"),
        (403, "unavailable"),
        (408, "transient"),
        (429, "rate_limited"),
        (500, "transient"),
        (503, "transient"),
        (304, "unavailable"),
    ],
)
async def test_every_other_status_is_a_classed_failure(act: Any, api: Api, status: int, class_: str) -> None:
    api.answers["*"] = web.Response(status=status, text="why " * 900, headers={"Retry-After": "7"})
    given = document(method="get", components={"securitySchemes": SCHEMES}, security=[{"head": []}, {"basic": []}])
    with pytest.raises(ToolError) as failed:
        await act(given)
    failure = failed.value.failure
    assert (failure.type, failure.class_, failure.retry_after_s) == (f"http_{status}", class_, 7)
    assert len(failure.message) < 1_100
    if status in (401, 403):
        assert "head or basic" in failure.next_action


async def test_redirects_of_the_same_origin_are_followed_and_no_others(act: Any, api: Api) -> None:
    async with Api().open() as other:
        api.answers |= {"GET /things": web.Response(status=307, headers={"Location": "/things/"}), "GET /things/": [1]}
        assert await act(document(method="get"), headers={"X-Key": "secret"}) == [1]
        assert [each.headers["X-Key"] for each in api.received] == ["secret", "secret"]
        for method, location in (("get", f"{other.url}/x"), ("post", "/things/")):
            api.answers["*"] = web.Response(status=307, headers={"Location": location})
            api.answers.pop("GET /things", None)
            with pytest.raises(ToolError) as refused:
                await act(document(method=method), headers={"X-Key": "secret"})
            assert (refused.value.failure.type, other.received) == ("redirected", [])


@pytest.mark.parametrize(("method", "class_"), [("get", "transient"), ("post", "unavailable")])
async def test_a_call_that_was_never_sent_has_not_acted(act: Any, method: str, class_: str) -> None:
    with pytest.raises(ToolError) as failed:
        await act(document(method=method), base_url=f"http://{HERE}:1")
    assert (failed.value.failure.type, failed.value.failure.class_) == ("connection", class_)


@pytest.mark.parametrize("is_public_document", [True, False])
async def test_a_document_from_the_internet_leads_to_no_private_address(
    api: Api, context: ToolContext, monkeypatch: pytest.MonkeyPatch, is_public_document: bool
) -> None:
    """127.0.0.1 counts as public here, in one case, and 127.0.0.2 does not."""

    def allowed(address: str) -> bool:
        return is_public(address) or (is_public_document and address == HERE)

    monkeypatch.setattr(fetching, "is_public", allowed)
    monkeypatch.setitem(PageFetcher.__init__.__kwdefaults__, "allowed", allowed)
    private = api.url.replace(HERE, "127.0.0.2")
    async with Api().open() as site:
        site.answers["*"] = document(method="get", servers=[{"url": private}])
        async with tools_of(f"{site.url}/openapi.json") as tools:
            with pytest.raises(ToolError) as refused:
                await tools["act"].call({}, context)
    assert refused.value.failure.type == ("private_address" if is_public_document else "connection")


# --- documents that change ------------------------------------------------------------------------------------------


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that were parsed."""
    found: list[str] = []

    def parse(content: bytes, where: str) -> Document:
        found.append(where)
        return Document(content, where)

    monkeypatch.setattr(connection, "Document", parse)
    return found


@pytest.mark.parametrize("place", ["file", "url", "url with a tag"])
async def test_a_document_is_parsed_again_only_if_it_changed(
    tmp_path: Path, api: Api, parsed: list[str], place: str
) -> None:
    path, tagged, sent = tmp_path / "things.json", place == "url with a tag", list[int]()

    async def answer(request: web.Request) -> web.Response:
        tag = f'"{hash(path.read_text())}"'
        status = 304 if tagged and request.headers.get("If-None-Match") == tag else 200
        sent.append(status)
        body = path.read_bytes() if status == 200 else b""
        return web.Response(status=status, body=body, headers={"ETag": tag} if tagged else {})

    api.answers["*"] = answer
    written(tmp_path, document(operationId="before"))
    where = path if place == "file" else f"{api.url}/things.json"
    source = openapi(where, base_url=api.url).connect({})
    for operation in ("before", "before", "after", "after"):
        written(tmp_path, document(operationId=operation))
        assert [each.name for each in await source.tools()] == [operation]
    path.write_text("{broken")
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            await source.tools()
    assert len(parsed) == 4
    assert sent == {"file": [], "url": [200] * 6, "url with a tag": [200, 304, 200, 304, 200, 200]}[place]
    await source.aclose()


# --- many operations -------------------------------------------------------------------------------------------------


async def test_more_operations_are_found_described_and_called(tmp_path: Path, api: Api, context: ToolContext) -> None:
    api.answers["*"] = {"page": {}, "animals": []}
    async with tools_of(star_trek(tmp_path), base_url=f"{api.url}/api", name="trek") as tools:
        specs = tools["specs"]
        assert [*specs] == ["trek_search", "trek_describe", "trek_call"]
        assert len(specs["trek_call"].operations) == 120
        found = await tools["trek_search"].call({"query": "search animals"}, context)
        assert {"get_animal_search", "post_animal_search"} <= {each["operation"] for each in found}
        described = await tools["trek_describe"].call({"operation": "get_animal_search"}, context)
        assert {"pageNumber", "pageSize"} <= described["arguments"]["properties"].keys()


@pytest.mark.parametrize("name", ["get_animal", "trek_get_animal"])
async def test_who_asks_for_an_operation_of_many_is_told_how_to_call_it(tmp_path: Path, name: str) -> None:
    async with Toolbox([openapi(star_trek(tmp_path), name="trek")]) as toolbox:
        with pytest.raises(UsageError) as refused:
            toolbox.get(name)
    assert "trek_call: operation=get_animal arguments=" in refused.value.how


async def test_a_call_has_the_effect_of_its_operation_and_is_checked_before_anybody_is_asked(
    tmp_path: Path, api: Api, context: ToolContext
) -> None:
    api.answers["*"] = {"page": {}, "animals": []}
    connection = openapi(star_trek(tmp_path), base_url=api.url, name="trek").connect({})
    spec = (await connection.tools())[2].spec
    for operation, effect, arguments, flaw in (
        ("get_animal_search", Effect.PURE, {"pageNumber": 2}, None),
        ("post_animal_search", Effect.ONCE, {"body": {"name": "x"}}, None),
        ("post_animal_search", Effect.ONCE, {"pageNumber": "two"}, "bad_arguments"),
        ("delete_everything", Effect.ONCE, {}, "bad_arguments"),
    ):
        args = {"operation": operation, "arguments": arguments}
        called = spec.called_with(args)
        tool = connection.bind(called)
        assert (called.effect, spec.approved_as(args)) == (effect, f"trek_call.{operation}")
        assert tool.check is not None
        if flaw is None:
            tool.check(args, lambda: None)
            assert (await tool.call(args, context)).raw == api.answers["*"]
        else:
            with pytest.raises(ToolError) as refused:
                tool.check(args, lambda: None)
            assert refused.value.failure.type == flaw
            with pytest.raises(ToolError) as refused:
                await tool.call(args, context)
            assert refused.value.failure.type == flaw
    assert api.lines == ["GET /animal/search", "POST /animal/search"]
    assert (api.received[0].query, api.received[1].form) == ([("pageNumber", "2")], {"name": ["x"]})
    await connection.aclose()


@pytest.mark.parametrize("change", ["text", "description", "gone"])
async def test_an_operation_that_changed_is_not_called(
    tmp_path: Path, api: Api, context: ToolContext, change: str
) -> None:
    before = document(method="get", summary="Look.")
    path = written(tmp_path, before)
    source = openapi(path, base_url=api.url)
    connection, later = source.connect({}), source.connect({})
    spec = (await connection.tools())[0].spec
    after = {
        "text": {**before, "info": {"title": "x"}},
        "description": document(method="get", summary="Pay."),
        "gone": None,
    }
    written(tmp_path, after[change] or document(operationId="other"))
    if change == "text":  # the same operation, in another document
        await later.bind(spec).call({}, context)
    else:
        with pytest.raises(ToolError) as refused:
            await later.bind(spec).call({}, context)
        assert (refused.value.failure.type, refused.value.failure.class_) == ("tool_changed", "unavailable")
    assert len(api.received) == (change == "text")
    for each in (connection, later):
        await each.aclose()


async def test_the_petstore_receives_what_its_document_describes(context: ToolContext) -> None:
    pet = {"id": 7, "name": "Rex", "photoUrls": ["a"], "tags": [{"id": 1, "name": "big"}], "status": "sold"}
    calls = {
        "addPet": {"body": pet},
        "updatePet": {"body": pet},
        "findPetsByStatus": {"status": ["sold", "pending"]},
        "getPetById": {"petId": 7},
        "deletePet": {"petId": 7, "api_key": "k"},
        "updatePetWithForm": {"petId": 7, "body": {"name": "Max"}},
        "placeOrder": {"body": {"petId": 7, "quantity": 2, "shipDate": "2026-11-30T00:00:00Z"}},
        "loginUser": {"username": "ann", "password": "s&p"},
    }
    answers = {"findPetsByStatus": [pet], "getPetById": pet, "placeOrder": {"id": 1}, "loginUser": "token"}
    async with Api(PETSTORE).open() as api, tools_of(PETSTORE, base_url=api.url) as tools:
        for name, args in calls.items():
            spec = tools["specs"][name]
            assert schema_problems(spec.parameters, args) == [], name
            api.answers["*"] = answers.get(name)
            returned_value(await tools[name].call(args, context), spec.output)
    assert api.problems == []
    assert len(api.received) == len(calls)
