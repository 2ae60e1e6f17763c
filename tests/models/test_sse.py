"""Server-sent events are the same events however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.models.openai.stream import ServerEvent, SseDecoder


def decoded(*chunks: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.close()]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: one\n\ndata: two\n\n", ["one", "two"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b": a comment\n\ndata:no space\n\n", ["no space"]),
        (b"\xef\xbb\xbfdata: marked\n\n", ["marked"]),
        (b"id: 7\nretry: 3\ndata: x\nnonsense\n\n", ["x"]),
        (b"data: cut off at the end", ["cut off at the end"]),
        (b"data\n\n", [""]),
        (b"event: ping\n\n", []),
        (b"data: \xff\n\n", ["�"]),
    ],
)
def test_decodes_what_servers_send(stream: bytes, data: list[str]) -> None:
    assert [event.data for event in decoded(stream)] == data


def test_keeps_the_name_of_an_event() -> None:
    assert decoded(b"event: error\ndata: x\n\ndata: y\n\n") == [ServerEvent("x", "error"), ServerEvent("y")]


_PIECES = st.lists(
    st.sampled_from(
        [b"data: ", b"x", b"\n", b"\r", b"\r\n", b":", b"event: e", "é".encode(), b"\xef\xbb\xbf", b"[DONE]"]
    )
)


@given(_PIECES.map(b"".join), st.lists(st.integers(0, 200)))
def test_bytes_cut_anywhere_give_the_same_events(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert decoded(*chunks) == decoded(stream) == decoded(*(bytes([byte]) for byte in stream))
