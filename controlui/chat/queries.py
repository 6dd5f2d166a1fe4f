"""Reads of conversations for pages, the API and live updates. Bounded, and none of them writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from controlui.errors import NotFound

from .access import Actor, ByScopes, conversations_for, may_speak, visible_streams
from .ids import can_exist
from .models import Conversation, Membership, Message, Run, Stream, wire_time
from .prepared import Prepared

# A fold of work never holds more notes than this: one push redraws one fold.
WORK_CHUNK = 50
CHANGED_MAX = 200


@dataclass(frozen=True, slots=True)
class DayRow:
    """The line between two days, in the server's time zone."""

    id: str
    at: str
    date: dt.date


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message of a person or an agent."""

    id: str
    at: str
    message: Message


@dataclass(frozen=True, slots=True)
class WorkRow:
    """Consecutive commentary of one run, in one fold."""

    id: str
    at: str
    messages: list[Message]
    run: Run | None
    finished: bool


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt's place in history; the questions app knows how it looks."""

    id: str
    at: str
    message: Message


Row = DayRow | MessageRow | WorkRow | PromptRow


@dataclass(frozen=True, slots=True)
class Timeline:
    """A stretch of history, oldest first, and the message to ask `?before=` for what came earlier."""

    rows: list[Row]
    earlier: str


def sort_key(moment: dt.datetime) -> str:
    """A time that sorts as text; rows are placed by it, so that no gap in numbers tells of hidden rows."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def messages_of(streams: Iterable[Stream | int]) -> QuerySet[Message]:
    """The messages of streams that the caller may see, with what a row shows."""
    return Message.objects.filter(stream__in=list(streams)).select_related("author", "run", "reply_to", "stream")


def timeline(streams: Sequence[Stream], *, before_uid: str | None = None, limit: int = 50) -> Timeline:
    """The newest `limit` messages (older than `before_uid`), as rows; folds of work are never cut."""
    if not streams:
        return Timeline([], "")
    conversation_id = streams[0].conversation_id
    query = messages_of(streams).filter(conversation=conversation_id)
    if before_uid:
        found = query.filter(uid=before_uid) if can_exist(before_uid) else query.none()
        before = found.values_list("seq", flat=True).first()
        if before is None:
            raise NotFound
        query = query.filter(seq__lt=before)
    newest = list(query.order_by("-seq")[: limit + 1])
    page, more = newest[:limit], len(newest) > limit
    page.reverse()
    if more and page:
        page = [*rest_of_chunk(page), *page]
        more = query.filter(seq__lt=page[0].seq).exists()
    return Timeline(rows_of(page), page[0].uid if more else "")


def rest_of_chunk(page: list[Message]) -> list[Message]:
    """Commentary before the page that belongs to the same fold as the page's first public message."""
    first = next((message for message in page if not message.stream.prompts), None)
    if first is None or first.kind != Message.Kind.COMMENTARY or first.run_id is None:
        return []
    chunk = chunk_of(first)
    return [message for message in chunk if message.seq < page[0].seq]


def chunk_of(message: Message) -> list[Message]:
    """The fold of work that a commentary message stands in: at most WORK_CHUNK consecutive notes of its run."""
    public = messages_of([message.stream]).filter(conversation=message.conversation_id)
    same_work = Q(kind=Message.Kind.COMMENTARY, run=message.run_id)
    other_before = public.filter(seq__lt=message.seq).exclude(same_work).order_by("-seq")
    start = other_before.values_list("seq", flat=True).first() or 0
    other_after = public.filter(seq__gt=message.seq).exclude(same_work).order_by("seq")
    end = other_after.values_list("seq", flat=True).first()
    work = public.filter(same_work, seq__gt=start)
    if end is not None:
        work = work.filter(seq__lt=end)
    place = work.filter(seq__lt=message.seq).count()
    skip = place - place % WORK_CHUNK
    return list(work.order_by("seq")[skip : skip + WORK_CHUNK])


def rows_of(messages: Sequence[Message]) -> list[Row]:
    """Rows of consecutive messages (oldest first): days, folds of work, prompts and the rest."""
    rows: list[Row] = []
    open_work: WorkRow | None = None
    day: dt.date | None = None
    for message in messages:
        date = timezone.localtime(message.created_at).date()
        if date != day:
            rows.append(day_row(date))
            day = date
        if message.kind == Message.Kind.PROMPT:
            rows.append(PromptRow(f"message-{message.uid}", sort_key(message.created_at), message))
            continue
        if message.kind == Message.Kind.COMMENTARY and message.run is not None:
            if open_work is not None and open_work.run == message.run and len(open_work.messages) < WORK_CHUNK:
                open_work.messages.append(message)
                continue
            open_work = work_row([message], message.run)
            rows.append(open_work)
            continue
        open_work = None
        rows.append(MessageRow(f"message-{message.uid}", sort_key(message.created_at), message))
    return rows


def work_row(messages: list[Message], run: Run) -> WorkRow:
    """One fold of a run's commentary."""
    first = messages[0]
    finished = run.status != Run.Status.RUNNING
    return WorkRow(f"work-{first.uid}", sort_key(first.created_at), messages, run, finished)


def day_row(date: dt.date) -> DayRow:
    """The line that begins a day."""
    start = dt.datetime.combine(date, dt.time.min, tzinfo=timezone.get_current_timezone())
    return DayRow(f"day-{date.isoformat()}", sort_key(start), date)


def rows_for(messages: Iterable[Message]) -> list[Row]:
    """The rows in which these (changed) messages stand, whole, each once, with their days."""
    rows: dict[str, Row] = {}
    drawn: set[int] = set()
    for message in messages:
        if message.pk in drawn:  # its fold was read for another note of it
            continue
        whole = message.kind == Message.Kind.COMMENTARY and message.run_id is not None
        together = chunk_of(message) if whole else [message]
        drawn.update(each.pk for each in together)
        for row in rows_of(together):
            rows[row.id] = row
    return sorted(rows.values(), key=lambda row: (row.at, row.id))


_changed = Prepared(
    lambda stream, since: messages_of([stream]).filter(version__gt=since).order_by("seq")[: CHANGED_MAX + 1], int, int
)


def changed_messages(known: dict[str, int], streams: Sequence[Stream]) -> list[Message] | None:
    """Messages changed since the versions a page knows (by stream uid); None when too many to patch."""
    changed: list[Message] = []
    for stream in streams:
        since = known.get(stream.uid, 0)
        if since >= stream.version:
            continue
        changed += _changed(stream.pk, since)
    return changed if len(changed) <= CHANGED_MAX else None


def get_run(agent_actor: Actor, client_id: str) -> Run:
    """The agent's run with this id. Raises NotFound."""
    run = (
        Run.objects.select_related("conversation", "acts_for")
        .filter(agent=agent_actor.agent, client_id=client_id)
        .first()
    )
    if agent_actor.agent is None or run is None:
        raise NotFound("There is no run with this id.", code="run_not_found")
    return run


def run_record(run: Run) -> dict[str, Any]:
    """A run on the wire."""
    return {
        "id": run.client_id,
        "kind": run.kind,
        "status": run.status,
        "sessionKey": run.conversation.key,
        "actsFor": run.acts_for.username if run.acts_for else None,
        "startedAt": wire_time(run.started_at),
        "endedAt": wire_time(run.ended_at),
        "deadlineAt": wire_time(run.deadline_at),
    }


def conversation_record(actor: Actor, conversation: Conversation) -> dict[str, Any]:
    """A conversation on the wire: its page, who is in it, its state."""
    owner = conversation.agent.owner
    members = [{"name": owner.username, "role": "owner"}] if owner else []
    others = Membership.objects.filter(conversation=conversation).exclude(user=owner).select_related("user")
    members += [{"name": member.user.username, "role": member.role} for member in others.order_by("pk")]
    state = "archived" if conversation.archived_at else "read_only" if conversation.read_only else "open"
    return {
        "sessionKey": conversation.key,
        "url": reverse("conversation", args=[conversation.uid]),
        "title": str(conversation),
        "agent": conversation.agent.name,
        "state": state,
        "generation": conversation.generation,
        "members": members,
        "mayWrite": may_speak(actor, conversation),
        "createdAt": wire_time(conversation.created_at),
        "activeAt": wire_time(conversation.active_at),
    }


def messages_page(
    actor: Actor, conversation: Conversation, *, before: str | None = None, limit: int = 50
) -> tuple[list[Message], str | None]:
    """Saved history that the actor may see, newest first, and the uid to go on from.

    Raises NotFound for a `before` that is not of this history.
    """
    query = messages_of(visible_streams(actor, conversation)).filter(conversation=conversation)
    if before is not None:
        place = query.filter(uid=before).values_list("seq", flat=True).first()
        if place is None:
            raise NotFound
        query = query.filter(seq__lt=place)
    found = list(query.order_by("-seq")[: limit + 1])
    return found[:limit], found[limit - 1].uid if len(found) > limit else None


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """One line of the list of conversations; `waiting`: prompts that this person may answer."""

    conversation: Conversation
    title: str
    url: str
    current: bool
    waiting: int = 0


LIST_MAX = 50
_newest = ByScopes(lambda actor: conversations_for(actor).order_by("-active_at", "-pk")[:LIST_MAX])


def conversation_list(actor: Actor, current: Conversation | None, waiting: Collection[int] = ()) -> list[Conversation]:
    """The newest conversations the actor may open, bounded; the current one always among them, and before them those
    where something waits for the person (`waiting`: their pks), however long nothing was said there."""
    newest = _newest(actor.user) if actor.user is not None else []
    shown = {item.pk for item in newest}
    older = [pk for pk in waiting if pk not in shown][:LIST_MAX]
    if older:
        found = Conversation.objects.select_related("agent__owner").filter(pk__in=older)
        newest = [*found.order_by("-active_at", "-pk"), *newest]
    if current is not None and all(item.pk != current.pk for item in newest):
        newest.append(current)
    return newest
