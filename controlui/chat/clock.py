"""The one clock of the product (design rule 1): the database's on PostgreSQL, else this host's."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone


def offset() -> dt.timedelta:
    """How far tests have moved the clock of a real server process; zero in production."""
    if not settings.CLOCK_OFFSET_FILE:
        return dt.timedelta(0)
    try:
        return dt.timedelta(seconds=float(Path(settings.CLOCK_OFFSET_FILE).read_text() or 0))
    except (OSError, ValueError):
        return dt.timedelta(0)


def now() -> dt.datetime:
    """The present moment, aware, in UTC. Many hosts on one PostgreSQL share its clock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            row = cursor.fetchone()
            assert row is not None
            moment: dt.datetime = row[0]
            return moment + offset()
    return timezone.now() + offset()
