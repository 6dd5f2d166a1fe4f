"""Counts that scripts send, and what somebody else may send in their place."""

from __future__ import annotations

import pytest

from controlui.pages.forms import number


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("7", 7), ("9007199254740991", 2**53 - 1), ("9007199254740992", 0), ("9" * 5_000, 0),
     ("-1", 0), ("1.5", 0), ("٣", 0), ("", 0), ("x", 0)],
)  # fmt: skip
def test_nonsense_is_nothing(text: str, count: int) -> None:
    assert number(text) == count
