"""Live text as it is put together: whole words, offsets in code units, and never a part of a secret."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server.streams import Streamed, Text

from leadhand.engine.redaction import REDACTED, Redactor
from leadhand.engine.session.drafts import LONGEST, DraftWriter
from leadhand.server.live.drafts import Draft, Piece, Reading

KNOWN = "hunter2hunter2"
WORDS = "correct horse battery"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq83vEjRWeJ\n-----END RSA PRIVATE KEY-----"
TOKEN = "Bearer abcdefghijklmnopqrstuvwxyz012345"
OWN = "lh_0123456789abcdefghijklmnopqrstuvwxyz"
URL = "https://app:zanzibar@db.example/x"
BASIC = "Basic YXBwOnphbnppYmFy"
QUOTED = "password: 'zanzibar'"
UNQUOTED = "**Password**: zanz1bar1"
MEMBER = '"password": "swordfish and chips"'
FAR_EAST = "密码-正确马电池"
SECRETS = (
    KNOWN,
    WORDS,
    PEM,
    TOKEN,
    "sk-abcdefghijklmnop0123",
    OWN,
    URL,
    BASIC,
    MEMBER,
    QUOTED,
    UNQUOTED,
    FAR_EAST,
)
TELLING = (
    *("hunter2", "correct horse", "horse battery", "MIIEowIBAAKCAQEA", "q83vEjRWeJ", "abcdefghij", "lh_0123456789"),
    *("zanzibar", "zanz1bar", "YXBwOn", "swordfish", "and chips"),
    *("秘密", "马电池"),
)
REDACTOR = Redactor([KNOWN, WORDS, FAR_EAST])


class Watched:
    """A draft, and what a client that reads all the time has put together of it."""

    def __init__(self, redactor: Redactor = REDACTOR) -> None:
        self.draft = Draft()
        self._writer = DraftWriter(redactor, self.draft.write, redactor.text)
        self._reading = Reading()
        self._text = Text()
        self.pieces: list[Piece] = []

    def write(self, *pieces: str) -> str:
        """Write pieces and show what can be shown; what the client sees then."""
        for piece in pieces:
            self._writer.write(piece)
        return self._seen()

    def end(self) -> str:
        """End the text; what the client sees then."""
        self._writer.end()
        return self._seen()

    def _seen(self) -> str:
        for piece in self._reading.news({"a": self.draft}):
            self.pieces.append(piece)
            self._text.take(Streamed("delta", None, piece._asdict()))
        assert self._text.of("a") == self.draft.shown
        return self._text.of("a")


def test_whole_words_are_shown_as_they_come() -> None:
    text = Watched()

    assert text.write("Light ra") == "Light "
    assert text.write("in, 7") == "Light rain, "
    assert text.write(" °C\n") == "Light rain, 7 °C\n"
    assert text.pieces == [("a", 0, "Light "), ("a", 6, "rain, "), ("a", 12, "7 °C\n")]


def test_offsets_count_code_units_as_browsers_do() -> None:
    text = Watched()
    text.write("🌧️ in 𝄞aris ", "tomorrow ")
    text.write("or so ")

    assert text.pieces == [("a", 0, "🌧️ in 𝄞aris tomorrow "), ("a", 23, "or so ")]


@pytest.mark.parametrize("text", ["今日の天気は晴れ、最高気温は14度です。", "วันนี้อากาศดี", "明天、星期二、小雨。"])
def test_what_is_written_without_spaces_is_shown_sign_by_sign(text: str) -> None:
    watched = Watched()
    for length, sign in enumerate(text, 1):
        shown = watched.write(sign)
        assert shown == text[: length - 1] if not sign.isascii() else text.startswith(shown)


@pytest.mark.parametrize("begins", ["", "password: '", "-----BEGIN PRIVATE KEY-----\n"])
def test_a_text_that_cannot_be_shown_yet_is_not_read_again_with_each_piece(begins: str) -> None:
    read: list[int] = []

    class Counting(Redactor):
        def settled(self, written: str) -> int:
            read.append(len(written))
            return super().settled(written)

    passed: list[str] = []
    writer = DraftWriter(Counting(), passed.append, Counting().text)
    for piece in filter(None, [begins, *(["AAA " if begins else "AAAA"] * 5_000)]):
        writer.write(piece)
    assert sum(read) < 30 * 4 * 5_000, "each character is read a few times"
    writer.end()
    assert "".join(passed)


def test_a_text_that_begins_anew_is_told_at_once_and_then_written() -> None:
    text = Watched()
    text.write("The first try ")

    assert text.write("") == ""
    assert text.pieces[-1] == ("a", 0, "")
    assert text.write("another ") == "another "


def test_a_text_that_begins_anew_between_two_looks_leaves_nothing_of_the_old() -> None:
    text = Watched()
    text.write("The first and rather long try ")

    assert text.write("more ", "", "short ") == "short "


@pytest.mark.parametrize(
    "parts",
    [
        ("Bearer ", "-----", "-----", "correct horse battery "),
        ("Bearer ", "-----", "-----", "Bearer ", TOKEN, " "),
        ("correct horse ", "correct horse battery ", "horse battery "),
        (WORDS, PEM, "-----BEGIN ", PEM, "\n", BASIC, " "),
        ("-----BEGIN RSA ", PEM, "\n", PEM[:40], "\n", PEM, " "),
        ("Basic ", TOKEN, " ", "Basic ", BASIC, " ", MEMBER, " password: ", MEMBER, " "),
    ],
)
def test_wherever_a_text_is_cut_once_or_twice_no_part_of_a_secret_shows(parts: tuple[str, ...]) -> None:
    whole = "".join(parts) + "end \n"
    for cut in range(1, len(whole)):
        text = Watched()
        for piece in (whole[:cut], whole[cut : cut + 7], whole[cut + 7 :]):
            shown = text.write(piece) if piece else text.draft.shown
            found = [telling for telling in TELLING if telling in shown and telling not in REDACTOR.text(whole)]
            assert not found, (cut, shown)
        assert text.end() == REDACTOR.text(whole)
        assert text.draft.version == 0, "what was shown was taken back"


def test_who_comes_late_gets_the_text_so_far_in_one_piece() -> None:
    text = Watched()
    text.write("one two ")
    text.write("three ")

    assert Reading().news({"a": text.draft}) == [("a", 0, "one two three ")]
    assert Reading().news({"a": Draft()}) == []


@pytest.mark.slow
def test_a_text_without_end_is_shown_no_further_than_it_can_be() -> None:
    text = Watched()
    for _ in range(100):
        text.write("word " * 1_000)

    assert 200_000 <= len(text.draft.shown) <= 210_000


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("end", ["", " ", "\n", " and more ", ". "])
@pytest.mark.parametrize("begin", ["He said: ", "天気は"])
def test_a_secret_that_comes_in_pieces_never_shows(begin: str, secret: str, end: str) -> None:
    whole = f"{begin}{secret}{end}"
    for size in (1, 3, 7, len(whole)):
        text = Watched()
        for at in range(0, len(whole), size):
            shown = text.write(whole[at : at + size])
            assert not [telling for telling in TELLING if telling in shown], shown
        assert text.end() == REDACTOR.text(whole)
        assert text.draft.shown.startswith(begin)
        assert REDACTED in text.draft.shown


@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_however_a_text_is_cut_no_part_of_a_secret_shows_and_all_the_rest_does(data: st.DataObject) -> None:
    plain = st.sampled_from(
        [
            "Paris ",
            "7 °C ",
            "🌧️\n",
            "天気は",
            "晴れ。",
            "-----",
            "correct ",
            "Bearer ",
            "basic ",
            "correct horse battery ",
        ]
    )
    parts = data.draw(st.lists(st.one_of(plain, st.sampled_from([f"{each} " for each in SECRETS])), max_size=8))
    whole = "".join(parts) + "end \n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    text = Watched()
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        if start < end:
            shown = text.write(whole[start:end])
            assert not [telling for telling in TELLING if telling in shown], shown
    assert text.end() == REDACTOR.text(whole)


def said(*pieces: str) -> list[str]:
    """What is passed on of pieces that a model writes, joined, after each of them and at the end."""
    passed: list[str] = []
    writer = DraftWriter(REDACTOR, passed.append, REDACTOR.text)
    found: list[str] = []
    for piece in pieces:
        writer.write(piece)
        found.append("".join(passed))
    writer.end()
    return [*found, "".join(passed)]


@pytest.mark.parametrize(("first", "shown"), [("", ""), (f"{KNOWN} ", f"{REDACTED} "), (f"{PEM}\n", f"{REDACTED}\n")])
def test_a_long_text_is_passed_on_word_by_word_and_each_word_is_read_once(first: str, shown: str) -> None:
    words = [f"word{number} " for number in range(2_000)]
    each = said(first, *words) if first else said(*words)
    assert each[-2001:-1] == [shown + "".join(words[: number + 1]) for number in range(2_000)]

    settled = REDACTOR.settled(first + "".join(words))
    assert settled == len(first + "".join(words)), "all of it is read again with the next word"


def test_a_text_that_starts_again_is_passed_on_from_its_start() -> None:
    passed: list[str] = []
    writer = DraftWriter(REDACTOR, passed.append, REDACTOR.text)
    for piece in ("hunter2", "", "one ", "two", "", "three"):
        writer.write(piece)
    writer.end()
    assert passed == ["", "one ", "", "three"]
    writer.end()
    assert passed[4:] == []


def test_of_a_text_that_is_too_long_the_cut_word_is_not_passed_on() -> None:
    words = "one " * (LONGEST // 4)
    assert said(f"{words}zanzi", "bar and more")[-1] == words
