"""System checks: settings that would only fail later, or in silence (run by every command and by `check`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 -- Django's own names
from django.http.request import validate_host


def check_processes(**_kwargs: Any) -> Sequence[CheckMessage]:
    """Several server processes need Redis: the in-memory layer ends at the process (design rule 10)."""
    if settings.REDIS_URL or web_processes() <= 1:
        return []
    return [
        Error(
            f"WEB_CONCURRENCY asks for {web_processes()} server processes without REDIS_URL.",
            hint="Set REDIS_URL, or run one process: `python manage.py up` does the worker's job too.",
            id="ops.E001",
        )
    ]


def web_processes() -> int:
    """How many processes server runners are told to start; 1 when that is no number."""
    text = os.environ.get("WEB_CONCURRENCY", "1")
    return int(text) if text.isdigit() else 1


def check_database(**_kwargs: Any) -> Sequence[CheckMessage]:
    """SQLite is one file on one host; other databases are not tested."""
    engine = settings.DATABASES["default"]["ENGINE"]
    found: list[CheckMessage] = []
    if "sqlite3" not in engine and "postgresql" not in engine:
        found.append(
            Error(
                f"DATABASE_URL names {engine.rpartition('.')[2]}, which is not supported.",
                hint="Use postgresql://… or leave it unset for SQLite.",
                id="ops.E002",
            )
        )
    if "sqlite3" in engine and settings.REDIS_URL:
        found.append(
            Warning(
                "REDIS_URL is set while the data is in SQLite: every process must run on this one host.",
                hint="For several hosts set DATABASE_URL=postgresql://… too.",
                id="ops.W003",
            )
        )
    if settings.SQLITE_SYNCHRONOUS not in {"NORMAL", "FULL", "EXTRA"}:
        found.append(
            Error(
                f"SQLITE_SYNCHRONOUS is {settings.SQLITE_SYNCHRONOUS!r}.",
                hint="NORMAL survives any kill of the process, FULL a loss of power.",
                id="ops.E004",
            )
        )
    return found


def check_secret_key(**_kwargs: Any) -> Sequence[CheckMessage]:
    """Sign-ins and socket tickets are signed with it."""
    key = settings.SECRET_KEY
    if len(key) >= 32 and len(set(key)) >= 10:
        return []
    return [
        Error(
            "SECRET_KEY is too short or too plain: it needs 32 characters or more, of 10 kinds.",
            hint="Unset it, and one is made and kept under CONTROLUI_DATA.",
            id="ops.E005",
        )
    ]


def check_public_url(**_kwargs: Any) -> Sequence[CheckMessage]:
    """PUBLIC_URL is an origin: scheme, host, perhaps a port, nothing after it."""
    url = settings.PUBLIC_URL
    if not url:
        return []
    wrong = public_url_fault(url)
    if wrong:
        return [Error(f"PUBLIC_URL {url!r} {wrong}.", hint="Write it like https://ask.example.org", id="ops.E006")]
    host = urlsplit(url).hostname or ""
    if not validate_host(host, settings.ALLOWED_HOSTS):
        hint = f"Add {host} to ALLOWED_HOSTS, or every request to it is refused."
        return [Error(f"ALLOWED_HOSTS lacks the host of PUBLIC_URL, {host}.", hint=hint, id="ops.E007")]
    return []


def public_url_fault(url: str) -> str:
    """What is wrong with an origin; empty when nothing is."""
    try:
        parts = urlsplit(url)
        _port = parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in {"http", "https"}:
        return "does not begin with http:// or https://"
    if not parts.hostname or parts.username or parts.password:
        return "needs a host, without a name or password"
    if parts.path or parts.query or parts.fragment:
        return "has something after the host"
    return ""


def check_clock(**_kwargs: Any) -> Sequence[CheckMessage]:
    """Tests move the clock of a real server; production must not."""
    if not settings.CLOCK_OFFSET_FILE:
        return []
    return [Warning("CONTROLUI_CLOCK_OFFSET_FILE moves the clock: for tests only.", id="ops.W008")]


ALL = (check_processes, check_database, check_secret_key, check_public_url, check_clock)
