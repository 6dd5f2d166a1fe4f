"""JSON that two programs could understand differently is refused, with words that help."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from controlui.rest.parsers import MAX_DEPTH, MalformedJSON, StrictJSONParser, TooLarge, loads


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"", {}),
        (b" \n", {}),
        (b'{"a": [1, -2.5, 1e3, true, null, "\\u00e9\\ud83d\\ude00"]}', {"a": [1, -2.5, 1000.0, True, None, "é😀"]}),
        ('{"ключ": "值"}'.encode(), {"ключ": "值"}),
        (b'"text"', "text"),
        (b'{"a": {"b": {"a": 1}}}', {"a": {"b": {"a": 1}}}),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    ],
)
def test_it_reads_json(raw: bytes, value: object) -> None:
    assert value is None or loads(raw) == value
    loads(raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not valid JSON"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a": 1,}', "not valid JSON"),
        (b'{"a": 1} x', "not valid JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "not valid JSON"),
        (b'{"a": "\n"}', "not valid JSON"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": [Infinity]}', "Infinity"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too long"),
        (b'{"a": 1, "a": 1}', "same key twice"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "same key twice"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "UTF-8"),
        (b'{"a": "\xc0\x80"}', "UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "UTF-8"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "levels deep"),
        (b"[" * 100_000 + b"]" * 100_000, "levels deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "levels deep"),
        (b'{"a": "\\ud800"}', "valid Unicode"),
        (b'{"a": "\\udc00\\ud800"}', "valid Unicode"),
        (b'{"\\ud800": 1}', "valid Unicode"),
    ],
)
def test_it_refuses(raw: bytes, words: str) -> None:
    with pytest.raises(MalformedJSON, match=words) as caught:
        loads(raw)
    assert caught.value.status == 400
    assert caught.value.code == "malformed_json"


def test_it_says_where_a_lone_surrogate_is() -> None:
    with pytest.raises(MalformedJSON) as caught:
        loads(b'{"questions": [{"header": "a\\udfff"}]}')
    assert [(fault["path"], fault["rule"]) for fault in caught.value.details] == [("questions[0].header", "character")]


def test_it_reads_no_more_than_the_limit() -> None:
    view = SimpleNamespace(max_body_bytes=10)
    stream = io.BytesIO(b"[1, 2, 3 ]" + b" " * 1000)
    with pytest.raises(TooLarge) as caught:
        StrictJSONParser().parse(stream, parser_context={"view": view})
    assert (caught.value.status, caught.value.extra) == (413, {"limit": 10})
    assert stream.tell() == 11
    assert StrictJSONParser().parse(io.BytesIO(b"[1, 2, 3 ]"), parser_context={"view": view}) == [1, 2, 3]
