"""The gate in front of every route: host names, other sites' pages, what browsers may do with answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import OpenDoor
from server.doors import Door

from leadhand.server.app import Doors
from leadhand.server.guard import LOOPBACK

OWN = "http://127.0.0.1:8700"
APP = "https://app.example.org"
RUN = {"request": "measure Paris"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8700", "localhost:8700", "LocalHost", "localhost.:8700", "[::1]:8700", "127.0.0.1"]
)
async def test_the_names_of_this_machine_are_answered(api: Door, host: str) -> None:
    assert (await api.get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:8700", "", "[::2]:8700"),
        *("0", "[::1]evil", "localhost:8700@evil", "127.0.0.1:8700, evil", "127.0.0.1 evil"),
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/api/runs", "/", "/openapi.json"])
async def test_a_name_that_is_bound_to_this_machine_from_elsewhere_is_not(api: Door, host: str, path: str) -> None:
    refused = await api.get(path, headers={"host": host})

    assert (refused.status_code, refused.json()["code"]) == (421, "wrong_host")
    assert "--allow-host" in refused.json()["how"]


async def test_a_host_that_is_allowed_is_answered(open_door: OpenDoor) -> None:
    api = await open_door(doors=Doors(hosts=LOOPBACK | {"hands.example.org"}))

    assert (await api.get("/healthz", headers={"host": "hands.example.org"})).status_code == 200
    assert (await api.get("/healthz", headers={"host": "other.example.org"})).status_code == 421


CROSS = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:3000"},
    {"origin": "https://127.0.0.1.evil.example:8700"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": OWN, "sec-fetch-site": "cross-site"},
]


@pytest.mark.parametrize("headers", CROSS)
async def test_a_page_of_another_site_changes_nothing(api: Door, headers: dict[str, str]) -> None:
    for refused in (
        await api.post("/api/runs", RUN, headers=headers),
        await api.post("/api/runs/run_x/cancel", headers=headers),
        await api.post("/api/approvals/1a2b3c4d", {"decision": "approve"}, headers=headers),
        await api.post("/api/session", {"key": "lh_x"}, headers=headers),
        await api.http.delete("/api/session", headers=headers),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_site")
    assert (await api.get("/api/runs")).json()["runs"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": OWN},
        {"origin": OWN, "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
async def test_our_own_pages_and_programs_do(api: Door, headers: dict[str, str]) -> None:
    assert (await api.post("/api/runs", RUN, headers=headers)).status_code == 202


async def test_a_key_may_come_from_anywhere(api: Door) -> None:
    headers = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}

    assert (await api.post("/api/runs", RUN, headers={**headers, **await api.key()})).status_code == 202
    assert (await api.post("/api/runs", RUN, headers={**headers, "authorization": "Bearer x"})).status_code == 401


# --- pages of other origins, allowed or not ---------------------------------------------------------------------------


async def test_without_cors_no_other_page_reads_anything(api: Door) -> None:
    preflight = await api.http.options("/api/runs", headers={"origin": APP, "access-control-request-method": "POST"})
    answered = await api.get("/api/runs", headers={"origin": APP})

    assert preflight.status_code == 405
    for response in (preflight, answered):
        assert not [name for name in response.headers if name.startswith("access-control")]


async def test_a_page_that_is_allowed_uses_the_api_with_a_key_and_not_without(open_door: OpenDoor) -> None:
    """On this machine, too: that a site's pages may talk to us does not make them the machine's user."""
    api = await open_door(doors=Doors(origins=[APP]))
    key = await api.key()
    asks = {
        "origin": APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    preflight = await api.http.options("/api/runs", headers=asks)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == APP
    assert "access-control-allow-credentials" not in preflight.headers

    started = await api.post("/api/runs", RUN, headers={"origin": APP, "sec-fetch-site": "cross-site", **key})
    assert started.status_code == 202
    assert started.headers["access-control-allow-origin"] == APP
    assert "location" in started.headers["access-control-expose-headers"].lower()

    for refused in (
        await api.post("/api/runs", RUN, headers={"origin": APP, "sec-fetch-site": "cross-site"}),
        await api.get("/api/runs", headers={"origin": APP}),
    ):
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == APP, "the page may read why it was refused"
    assert len((await api.get("/api/runs")).json()["runs"]) == 1


async def test_other_pages_stay_out_when_one_is_allowed(open_door: OpenDoor) -> None:
    api = await open_door(doors=Doors(origins=[APP]))
    for origin in ("https://evil.example", "http://app.example.org", f"{APP}.evil.example", "null"):
        refused = await api.post("/api/runs", RUN, headers={"origin": origin})
        asks = {"origin": origin, "access-control-request-method": "POST"}
        preflight = await api.http.options("/api/runs", headers=asks)
        assert (refused.status_code, preflight.status_code) == (403, 400)
        assert "access-control-allow-origin" not in {*refused.headers, *preflight.headers}


# --- what goes out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/api/runs", "/api/runs/run_x", "/nowhere", "/openapi.json", "/metrics"]
)
async def test_every_answer_tells_browsers_to_be_careful(api: Door, path: str) -> None:
    headers = (await api.get(path)).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    for each in ("frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"):
        assert each in policy
    assert "unsafe" not in policy
    assert "http" not in policy, "nothing is loaded from elsewhere"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")
    assert "server" not in headers


async def test_refusals_are_careful_too(api: Door) -> None:
    refused = [
        await api.get("/healthz", headers={"host": "evil.example"}),
        await api.post("/api/runs", RUN, headers={"origin": "https://evil.example"}),
        await api.post("/api/runs", {}),
        await api.http.put("/api/runs"),
    ]

    assert [each.status_code for each in refused] == [421, 403, 422, 405]
    assert all(each.headers["content-security-policy"] for each in refused)
    assert all(each.headers["x-content-type-options"] == "nosniff" for each in refused)


# --- the console's files ----------------------------------------------------------------------------------------------


async def test_without_a_console_the_root_is_a_page_all_the_same(api: Door) -> None:
    page = await api.get("/")

    assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (200, "text/html")


async def test_the_console_finds_its_own_way_and_the_api_keeps_its_own(open_door: OpenDoor, tmp_path: Path) -> None:
    console = tmp_path / "console"
    console.mkdir()
    (console / "index.html").write_text("<!doctype html><title>console</title>")
    (console / "app.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    api = await open_door(console=console)
    page = {"accept": "text/html"}

    for path in ("/", "/runs/run_x", "/approvals", "/tools?tab=1"):
        answer = await api.get(path, headers=page)
        assert (answer.status_code, "<title>console</title>" in answer.text) == (200, True), path
    assert (await api.get("/app.js")).text == "1"
    for path in ("/api/nowhere", "/api/runs/run_x"):
        missing = await api.get(path, headers=page)
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json"), path
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"):
        assert "secret" not in (await api.get(path, headers=page)).text.replace("secret.txt", "")


async def test_an_origin_that_is_none_is_a_page_of_another_site(api: Door) -> None:
    run_id = await api.started()
    refused = await api.post(f"/api/runs/{run_id}/cancel", headers={"origin": "http://["})

    assert (refused.status_code, refused.json()["code"]) == (403, "cross_site")
    assert (await api.get("/api/runs", headers={"origin": "http://["})).status_code == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/runs", b'{"request": "\\ud800"}'),
        ("/api/runs", b"\xff\xfe"),
        ("/api/runs", b'{"request": NaN}'),
        ("/api/runs", b'{"request": "x", "options": {"\\ud800": 1}}'),
        ("/api/tools/measure/call", b'{"args": {"\\ud800": 1}}'),
        ("/api/tools/measure/call", b'{"args": {"place": "\\ud800"}}'),
    ],
)
async def test_what_is_no_text_is_refused_and_can_be_told_of(api: Door, path: str, body: bytes) -> None:
    refused = await api.http.post(path, content=body, headers={"content-type": "application/json"})

    assert refused.status_code == 422, refused.text
    assert refused.json()["how"]
