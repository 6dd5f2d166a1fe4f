"""One change of one conversation: its lock, its moment, its seqs and stream versions, its publishing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from controlui.chat import clock
from controlui.chat.models import Conversation, Message, Run, Stream, User
from controlui.live import publish
from controlui.live.publish import Sending

from . import statements

_TICK = dt.timedelta(microseconds=1)


@dataclass(slots=True)
class Change:
    """An open transaction that holds the conversation's row (design rule 2, lock order).

    `at` is the moment of the change, taken after the lock. Everything that starts or ends takes a `seq()`.
    `touch(stream)` gives the one version this transaction makes of a stream.
    """

    conversation: Conversation
    at: dt.datetime
    rows: list[Message] = field(default_factory=list)
    sendings: list[Sending] = field(default_factory=list)
    after_commit: list[Callable[[], None]] = field(default_factory=list)
    _touched: dict[int, Stream] = field(default_factory=dict)
    _streams: dict[tuple[bool, int | None], Stream] = field(default_factory=dict)
    _new_streams: list[Stream] = field(default_factory=list)
    _last_stamp: dt.datetime | None = None

    def seq(self) -> int:
        """The next place in the conversation."""
        self.conversation.seq += 1
        return self.conversation.seq

    def stream(self, *, prompts: bool = False, audience: User | None = None) -> Stream:
        """The stream of an audience, made when it is first needed."""
        audience_id = audience.pk if audience else None
        known = self._streams.get((prompts, audience_id))
        if known is None:
            known = statements.find_stream(self.conversation, prompts=prompts, audience_id=audience_id)
        if known is None:
            known = Stream.objects.create(conversation=self.conversation, prompts=prompts, audience=audience)
            self._new_streams.append(known)
        self._streams[prompts, audience_id] = known
        return known

    def touch(self, stream: Stream) -> int:
        """The version that this transaction makes of the stream: one more than before, once."""
        if stream.pk not in self._touched:
            stream.version = statements.bump_stream(stream)
            self._touched[stream.pk] = stream
        return self._touched[stream.pk].version

    def stamp(self) -> dt.datetime:
        """A time for a new row: `at`, but later than every row before, so that rows sort by time."""
        last = self._last_stamp or self.conversation.stamped_at
        self._last_stamp = max(self.at, last + _TICK)
        return self._last_stamp

    def add_message(self, *, stream: Stream, kind: str, text: str, **more: Any) -> Message:
        """Saves one message at the end of the conversation."""
        message = Message(
            conversation=self.conversation,
            stream=stream,
            version=self.touch(stream),
            seq=self.seq(),
            generation=self.conversation.generation,
            kind=kind,
            text=text,
            created_at=self.stamp(),
            **more,
        )
        statements.insert(message)
        self.rows.append(message)
        if not stream.prompts:
            self.conversation.active_at = message.created_at
        return message

    def redraw(self, message: Message) -> None:
        """Marks a message as looking different from now on."""
        message.version = self.touch(message.stream)
        statements.redraw_message(message.pk, message.version)
        self.rows.append(message)

    def redraw_work(self, run: Run) -> None:
        """Marks the commentary of a run as looking different: it folds when the run ends."""
        work = Message.objects.filter(run=run, kind=Message.Kind.COMMENTARY)
        if not work.exists():
            return
        stream = self.stream()
        work.update(version=self.touch(stream))
        self.rows.extend(work.select_related("author", "run", "reply_to"))

    def finish(self) -> None:
        """Writes the conversation's counters and leaves the publishing to the commit."""
        if self._last_stamp is not None:
            self.conversation.stamped_at = self._last_stamp
        statements.write_counters(self.conversation)
        # Robust: the change stands, so trouble with telling of it is logged and never the caller's error.
        transaction.on_commit(self._publish, robust=True)

    def _publish(self) -> None:
        from controlui.chat import live

        sendings = [*self.sendings]
        for stream in self._touched.values():
            rows = [row for row in self.rows if row.stream_id == stream.pk]
            sendings += live.frames(stream, stream.version, rows)
            sendings += live.list_frames(stream, self.conversation)
        for stream in self._new_streams:
            sendings += live.refresh_frames(stream, self.conversation)
        publish.send(sendings)
        for callback in self.after_commit:
            callback()


@contextmanager
def change(conversation: Conversation, at: dt.datetime | None = None) -> Iterator[Change]:
    """Opens a transaction on a conversation: its row first, then the moment (design rule 2).

    One conversation per transaction; a loop over several commits each. `at` is injected by tests.
    """
    with transaction.atomic():
        locked = statements.lock_conversation(conversation)
        opened = Change(conversation=locked, at=at or clock.now())
        yield opened
        opened.finish()
