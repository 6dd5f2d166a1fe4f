"""An async answer as a message, and back: rows J14-J16 and J20-J26 of the study; nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from questions import replies


@dataclass(frozen=True)
class Item:
    text: str
    key: str = "q"
    labels: list[str] = field(default_factory=lambda: ["Engineers", "Everyone"])
    multi_select: bool = False


DB = Item("Which database?", "db", ["postgres", "sqlite"])
CACHE = Item("Which caches?", "cache", ["redis", "memory"], multi_select=True)


def test_one_question() -> None:
    assert replies.message_of([Item("Which audience?")], {"q": ["Engineers"]}) == "> Which audience?\n\nEngineers"


def test_two_questions_and_a_text_of_two_lines() -> None:
    text = replies.message_of([DB, CACHE], {"db": ["postgres"], "cache": ["redis", "line1\nline2"]})
    assert text == "> Which database?\n\npostgres\n\n> Which caches?\n\nredis, line1\nline2"


def test_a_long_title_is_cut_between_characters() -> None:
    assert replies.title("界" * 180) == "界" * 170
    assert replies.title("two\r\nlines\tand more") == "two lines and more"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "> Which database?\n\npostgres\n\n> Which caches?\n\nmemory, redis",
            {"db": ["postgres"], "cache": ["redis", "memory"]},
        ),
        ("> Which database?\r\n\r\nmine\r\n\r\n> Which caches?\r\n\r\nnone", {"db": ["mine"], "cache": ["none"]}),
        (
            "> Which database?\nCache: DB: postgres\n> Which caches?\nredis, mine",
            {"db": ["Cache: DB: postgres"], "cache": ["redis, mine"]},
        ),
        ("postgres", None),
        ("Well: > Which database?\n\npostgres\n\n> Which caches?\n\nredis", None),
        ("> Which database?\n\npostgres", None),
        ("> Which caches?\n\nredis\n\n> Which database?\n\npostgres", None),
        ("> Which database?\n\n\n\n> Which caches?\n\nredis", None),
        ("> Which database?\n\npostgres\n\n> Which caches?\n\n ", None),
        # The next heading stands twice: which of them begins the second answer nobody knows.
        ("> Which database?\n\na\n> Which caches?\nb\n\n> Which caches?\n\nredis", None),
        ("", None),
    ],
)
def test_reading_back(text: str, expected: dict[str, list[str]] | None) -> None:
    assert replies.read([DB, CACHE], text) == expected


def test_a_single_choice_is_never_split_at_its_commas() -> None:
    assert replies.read([DB], "> Which database?\n\npostgres, sqlite") == {"db": ["postgres, sqlite"]}


lines = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip() == text)


@given(first=lines, second=st.lists(lines, min_size=1, max_size=3, unique=True))
def test_what_was_sent_is_read_back_or_not_at_all(first: str, second: list[str]) -> None:
    answers = {"db": [first], "cache": second}
    found = replies.read([DB, CACHE], replies.message_of([DB, CACHE], answers))
    if found is not None:
        assert found["db"] == [first]
        assert ", ".join(found["cache"]) in {", ".join(second), ", ".join(dict.fromkeys(found["cache"]))}
