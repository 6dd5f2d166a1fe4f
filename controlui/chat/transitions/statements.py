"""The statements of every change, as SQL that both databases share.

The ORM builds each of them anew for 0.2-0.6 ms, which made up most of a cycle (bench/README.md); everything
that is not on that path stays with the ORM.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connection

from controlui.chat.models import Conversation, Stream

COUNTERS = ("seq", "generation", "active_at", "event_count", "event_head")
NAMES = [field.attname for field in Conversation._meta.concrete_fields]


def fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Runs one statement; its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def execute(sql: str, params: Sequence[Any]) -> None:
    """Runs one statement that returns nothing."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def lock_conversation(conversation: Conversation) -> Conversation:
    """Takes the conversation's row and reads its counters: a new object, since the caller's may be shared.

    On SQLite BEGIN IMMEDIATE has taken the whole file already. Raises Conversation.DoesNotExist.
    """
    lock = " FOR NO KEY UPDATE" if connection.features.has_select_for_no_key_update else ""
    sql = f"SELECT {', '.join(COUNTERS)} FROM chat_conversation WHERE id = %s{lock}"  # noqa: S608  (constants)
    rows = fetch(sql, [conversation.pk])
    if not rows:
        raise Conversation.DoesNotExist
    values = {name: getattr(conversation, name) for name in NAMES}
    values |= zip(COUNTERS, rows[0], strict=True)
    values["active_at"] = as_moment(values["active_at"])
    locked = Conversation.from_db(connection.alias, NAMES, [values[name] for name in NAMES])
    if Conversation.agent.is_cached(conversation):
        locked.agent = conversation.agent
    return locked


def as_moment(value: dt.datetime) -> dt.datetime:
    """A time as the driver gives it: SQLite's is naive, and UTC."""
    return value if value.tzinfo else value.replace(tzinfo=dt.UTC)


def write_counters(conversation: Conversation) -> None:
    """Writes the counters of a locked conversation."""
    values = [getattr(conversation, name) for name in COUNTERS]
    values[2] = connection.ops.adapt_datetimefield_value(conversation.active_at)
    sets = ", ".join(f"{name} = %s" for name in COUNTERS)
    execute(f"UPDATE chat_conversation SET {sets} WHERE id = %s", [*values, conversation.pk])  # noqa: S608


def bump_stream(stream: Stream) -> int:
    """One version more, as the database counts; what it is now."""
    sql = "UPDATE chat_stream SET version = version + 1 WHERE id = %s RETURNING version"
    ((version,),) = fetch(sql, [stream.pk])
    return int(version)


def find_stream(conversation: Conversation, *, prompts: bool, audience_id: int | None) -> Stream | None:
    """The stream of an audience, if there is one."""
    whose = "audience_id IS NULL" if audience_id is None else "audience_id = %s"
    sql = f"SELECT id, uid, version, announced FROM chat_stream WHERE conversation_id = %s AND prompts = %s AND {whose}"  # noqa: S608
    rows = fetch(sql, [conversation.pk, prompts, *([] if audience_id is None else [audience_id])])
    if not rows:
        return None
    pk, uid, version, announced = rows[0]
    # In the order of the model's fields: `from_db` goes by place when all of them are given.
    names = ["id", "uid", "conversation_id", "prompts", "audience_id", "version", "announced"]
    values = [pk, uid, conversation.pk, prompts, audience_id, version, announced]
    return Stream.from_db(connection.alias, names, values)


def redraw_message(pk: int, version: int) -> None:
    """A message looks different from this version on."""
    execute("UPDATE chat_message SET version = %s WHERE id = %s", [version, pk])
