"""Settings that are refused before they can do harm."""

from __future__ import annotations

import pytest
from django.core.checks import CheckMessage
from pytest_django import Settings

from controlui.ops import checks


def ids(found: object) -> list[str | None]:
    assert isinstance(found, list)
    return [message.id for message in found if isinstance(message, CheckMessage)]


def test_defaults_are_fine(settings: Settings) -> None:
    settings.REDIS_URL = ""
    assert [ids(check()) for check in checks.ALL] == [[] for _check in checks.ALL]


def test_several_processes_need_redis(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = ""
    monkeypatch.setenv("WEB_CONCURRENCY", "2")
    assert ids(checks.check_processes()) == ["ops.E001"]
    settings.REDIS_URL = "redis://localhost/0"
    assert ids(checks.check_processes()) == []


@pytest.mark.parametrize("text", ["1", "", "auto"])
def test_one_process_is_fine(settings: Settings, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    settings.REDIS_URL = ""
    monkeypatch.setenv("WEB_CONCURRENCY", text)
    assert ids(checks.check_processes()) == []


def test_sqlite_beside_redis_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    settings.REDIS_URL = "redis://localhost/0"
    assert ids(checks.check_database()) == ["ops.W003"]


def test_other_databases_are_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.mysql")
    settings.REDIS_URL = ""
    assert ids(checks.check_database()) == ["ops.E002"]


def test_synchronous_is_checked(settings: Settings) -> None:
    settings.REDIS_URL, settings.SQLITE_SYNCHRONOUS = "", "OFF"
    assert ids(checks.check_database()) == ["ops.E004"]


@pytest.mark.parametrize("key", ["short", "a" * 64])
def test_weak_secret_keys_are_refused(settings: Settings, key: str) -> None:
    settings.SECRET_KEY = key
    assert ids(checks.check_secret_key()) == ["ops.E005"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", []),
        ("https://ask.example.org", []),
        ("http://127.0.0.1:8000", []),
        ("https://ask.example.org/sub", ["ops.E006"]),
        ("https://me:secret@ask.example.org", ["ops.E006"]),
        ("ask.example.org", ["ops.E006"]),
        ("ftp://ask.example.org", ["ops.E006"]),
        ("https://ask.example.org:port", ["ops.E006"]),
        ("https://", ["ops.E006"]),
        ("https://other.example.org", ["ops.E007"]),
    ],
)
def test_public_url_is_an_origin_of_an_allowed_host(settings: Settings, url: str, expected: list[str]) -> None:
    settings.ALLOWED_HOSTS = ["ask.example.org", "127.0.0.1"]
    settings.PUBLIC_URL = url
    assert ids(checks.check_public_url()) == expected


def test_moved_clock_is_told(settings: Settings) -> None:
    settings.CLOCK_OFFSET_FILE = "somewhere"
    assert ids(checks.check_clock()) == ["ops.W008"]
