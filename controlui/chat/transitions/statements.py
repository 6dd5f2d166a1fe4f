"""The statements of every change, as SQL that both databases share.

The ORM builds each of them anew for 0.2-0.6 ms, which made up most of a cycle (bench/README.md); everything
that is not on that path stays with the ORM.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model

from controlui.chat.models import Conversation, Stream

COUNTERS = ("seq", "generation", "event_count", "event_head", "active_at", "stamped_at")
TIMES = COUNTERS[-2:]
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


def insert(row: Model) -> None:
    """Inserts a new row with all its fields, and sets its pk. The fields themselves prepare their values."""
    fields = [field for field in row._meta.concrete_fields if not field.primary_key]
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    sql = f'INSERT INTO "{row._meta.db_table}" ({columns}) VALUES ({marks}) RETURNING id'  # noqa: S608  (constants)
    ((row.pk,),) = fetch(sql, values)
    row._state.adding, row._state.db = False, connection.alias


def update(model: type[Model], changes: dict[str, Any], where: str, params: Sequence[Any]) -> int:
    """Updates the rows where a condition holds; how many. `changes` is by attribute, `where` SQL of ours."""
    fields = {field.attname: field for field in model._meta.concrete_fields}
    values = [fields[name].get_db_prep_save(value, connection) for name, value in changes.items()]
    sets = ", ".join(f'"{fields[name].column}" = %s' for name in changes)
    with connection.cursor() as cursor:
        cursor.execute(f'UPDATE "{model._meta.db_table}" SET {sets} WHERE {where}', [*values, *params])  # noqa: S608
        return int(cursor.rowcount)


def moment(value: dt.datetime) -> Any:
    """A time as a parameter of our own SQL."""
    return connection.ops.adapt_datetimefield_value(value)


def find_conversation(agent_id: int, key: str) -> Conversation | None:
    """The agent's conversation of this key, if there is one."""
    sql = f"SELECT {', '.join(NAMES)} FROM chat_conversation WHERE agent_id = %s AND key = %s"  # noqa: S608
    rows = fetch(sql, [agent_id, key])
    if not rows:
        return None
    values = [as_moment(value) if isinstance(value, dt.datetime) else value for value in rows[0]]
    return Conversation.from_db(connection.alias, NAMES, values)


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
    values |= {name: as_moment(values[name]) for name in TIMES}
    locked = Conversation.from_db(connection.alias, NAMES, [values[name] for name in NAMES])
    if Conversation.agent.is_cached(conversation):
        locked.agent = conversation.agent
    return locked


def as_moment(value: dt.datetime) -> dt.datetime:
    """A time as the driver gives it: SQLite's is naive, and UTC."""
    return value if value.tzinfo else value.replace(tzinfo=dt.UTC)


def write_counters(conversation: Conversation) -> None:
    """Writes the counters of a locked conversation."""
    values = [getattr(conversation, name) for name in COUNTERS[: -len(TIMES)]]
    values += [moment(getattr(conversation, name)) for name in TIMES]
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
