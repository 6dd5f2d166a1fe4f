"""What reaches the log, and what never does."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog
from django.conf import settings

from controlui.ops import logs

SECRET = "a1B2" * 11  # as long as the secret part of our tokens
TOKEN = f"agt_{SECRET[:43]}"


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """What was written to stderr, with logging set up for JSON; as before afterwards."""
    structlog.reset_defaults()
    logs.configure({"level": "INFO", "format": "json"})
    yield lambda: capsys.readouterr().err
    structlog.reset_defaults()
    logs.configure(settings.LOGGING)


def test_event_and_its_values_are_one_line_of_json(lines: Callable[[], str]) -> None:
    structlog.get_logger("ours").info("prompt_opened", prompt="p1", questions=3)
    line = json.loads(lines())
    assert (line["event"], line["prompt"], line["questions"], line["level"]) == ("prompt_opened", "p1", 3, "info")


def test_extra_of_the_standard_library_is_kept(lines: Callable[[], str]) -> None:
    logging.getLogger("library").warning("sweep_failed", extra={"row": 7})
    assert json.loads(lines())["row"] == 7


@pytest.mark.parametrize("key", ["token", "answers", "text", "password", "authorization", "draft"])
def test_values_that_are_secret_by_name_are_kept_out(lines: Callable[[], str], key: str) -> None:
    structlog.get_logger("ours").info("thing_done", **{key: "the very words"})
    assert "the very words" not in lines()


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        (f"Not Found: /sign-in/in_{SECRET[:43]}/", SECRET[:43]),
        ("GET /sign-in/short?x=1", "short"),
        (f"Authorization: Bearer {TOKEN}", SECRET[:43]),
        (f"refused {TOKEN}.", TOKEN),
        ("GET /ws/?t=eyJ1c2VyIjoxfQ:1abc&x=2", "eyJ1c2Vy"),
        ("postgresql://me:hunter2@db/x", "hunter2"),
    ],
)
def test_secrets_inside_a_line_are_kept_out(lines: Callable[[], str], said: str, secret: str) -> None:
    logging.getLogger("django.request").warning(said)
    written = lines()
    assert written
    assert secret not in written


def test_tracebacks_are_kept_without_the_row_that_a_database_repeats(lines: Callable[[], str]) -> None:
    row = "(1, what ana typed)"
    try:
        raise ValueError(f"null value\nDETAIL:  Failing row contains {row}.")
    except ValueError:
        structlog.get_logger("ours").exception("save_failed")
    written = lines()
    assert "ValueError: null value" in json.loads(written)["exception"]
    assert "what ana typed" not in written


def test_console_form_is_one_readable_line(lines: Callable[[], str]) -> None:
    structlog.reset_defaults()
    logs.configure({"level": "INFO", "format": "console"})
    structlog.get_logger("ours").info("prompt_opened", prompt="p1")
    written = lines()
    assert "prompt_opened" in written
    assert "prompt=p1" in written
    assert written.count("\n") == 1


def test_level_decides(lines: Callable[[], str]) -> None:
    structlog.get_logger("ours").debug("detail")
    assert lines() == ""
