"""A stream is the same answer however its bytes are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.models.openai.stream import ChatStream
from leadhand.ports import ModelError


def decoded(*chunks: bytes) -> dict[str, Any] | str:
    """The answer in the chunks, or the type of the failure."""
    stream = ChatStream(None, "")
    try:
        for chunk in chunks:
            stream.feed(chunk)
        return stream.document()
    except ModelError as error:
        return error.failure.type


A, END = (b'data: {"choices": [{"delta": {"content": "%s"}}]}' % text for text in (b"\xc3\xa4", b"!"))


@pytest.mark.parametrize(
    "stream",
    [
        A + b"\n\n" + END + b"\n\ndata: [DONE]\n\n",
        A + b"\r\n\r\n" + END + b"\r\n\r\ndata: [DONE]\r\n",
        b": a comment\n\nid: 7\nretry: 3\n" + A + b"\nnonsense\n" + END.replace(b": ", b":") + b"\n\ndata:[DONE]",
    ],
)
def test_decodes_what_servers_send(stream: bytes) -> None:
    answer = decoded(stream)
    assert isinstance(answer, dict)
    assert answer["choices"][0]["message"]["content"] == "\u00e4!"


_PIECES = st.lists(st.sampled_from([A, END, b"data: ", b"x", b"\n", b"\r", b"\r\n", b":", b"event: e", b"[DONE]"]))


@given(_PIECES.map(b"".join), st.lists(st.integers(0, 200)))
def test_bytes_cut_anywhere_give_the_same_answer(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert decoded(*chunks) == decoded(stream) == decoded(*(bytes([byte]) for byte in stream))
