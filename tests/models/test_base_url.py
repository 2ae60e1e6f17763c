"""A base URL is checked before anything is sent, and the message never shows a password."""

from __future__ import annotations

import pytest

from leadhand.core.errors import ConfigurationError
from leadhand.models.server_settings import checked_base_url, is_loopback


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        (" https://api.openai.com/v1/ ", "https://api.openai.com/v1"),
        ("https://x.y/v1/chat/completions", "https://x.y/v1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_good_url_is_tidied(given: str, used: str) -> None:
    assert checked_base_url(given) == used


@pytest.mark.parametrize(
    "url",
    ["", "  ", "localhost:8000", "ftp://x", "http://", "http://x:0/", "http://x:99999", "http://x y/v1", "http://[::1",
     "http://x/v1?key=1", "http://x/#a", "http://\nx", "http://user:hunter2@x/v1", "hunter2@x"],
)  # fmt: skip
def test_a_malformed_url_is_refused_in_two_lines(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        checked_base_url(url, setting="LEADHAND_BASE_URL")
    what, how = str(caught.value).split("\n")
    assert what.startswith("LEADHAND_BASE_URL")
    assert how
    assert "hunter2" not in str(caught.value)


def test_this_machine_is_told_from_others() -> None:
    assert is_loopback("http://127.0.0.5:1/v1")
    assert is_loopback("http://localhost/v1")
    assert is_loopback("http://[::1]:80/v1")
    assert not is_loopback("https://api.openai.com/v1")
