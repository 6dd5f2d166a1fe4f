"""Runs: opened for a person that the server fixes, ended once, always by a deadline."""

from __future__ import annotations

import datetime as dt
import logging
import re

from django.db import IntegrityError, transaction
from django.db.models import Q

from controlui.chat import clock, hooks
from controlui.chat.errors import RunAlreadyEnded, RunIdInUse, invalid
from controlui.chat.ids import new_uid
from controlui.chat.models import Agent, Conversation, Message, Run, User
from controlui.errors import NotFound

from .change import Change, change

log = logging.getLogger(__name__)

DEFAULT_DEADLINE = dt.timedelta(hours=24)
MAX_DEADLINE = dt.timedelta(days=30)
RUN_ID = re.compile(r"[A-Za-z0-9._:~-]{1,128}")
PUSH_AHEAD = dt.timedelta(minutes=5)


def find_run(agent: Agent, client_id: str, conversation: Conversation | None = None) -> Run:
    """The agent's run with this id. Raises NotFound; of another conversation, InvalidInput."""
    run = Run.objects.select_related("acts_for", "conversation").filter(agent=agent, client_id=client_id).first()
    if run is None:
        raise NotFound("There is no run with this id.", code="run_not_found")
    if conversation is not None and run.conversation_id != conversation.pk:
        raise invalid("runId", "other_session", "This run belongs to another session.")
    return run


def open_run(
    *,
    agent: Agent,
    session_key: str,
    kind: str = Run.Kind.MAIN,
    client_id: str | None = None,
    trigger_message_id: str | None = None,
    deadline_seconds: int | None = None,
    recovery_of: str | None = None,
    at: dt.datetime | None = None,
) -> tuple[Run, bool]:
    """Opens a run; `(run, created)`. The same id with the same session and kind is the same run.

    It acts for the author of the trigger message, which must be a person's message of this conversation,
    else for the agent's owner (design section 5). `recovery_of` first ends that run as aborted; what it was
    asking moves to the new run. Raises InvalidInput, NotFound, RunIdInUse.
    """
    from .conversations import change_of_session

    if kind not in Run.Kind.values:
        raise invalid("kind", "unknown_kind", 'The kind is "main" or "subagent".')
    if client_id is not None and not RUN_ID.fullmatch(client_id):
        raise invalid("id", "characters", "A run id has 1 to 128 of A-Z a-z 0-9 . _ : ~ -")
    deadline = run_deadline(deadline_seconds)
    try:
        with change_of_session(agent, session_key, at) as opened:
            earlier = Run.objects.filter(agent=agent, client_id=client_id).first() if client_id else None
            if earlier is not None:
                return same_run(earlier, opened.conversation, kind), False
            trigger = find_trigger(opened.conversation, trigger_message_id)
            old = find_run(agent, recovery_of, opened.conversation) if recovery_of else None
            run = Run.objects.create(
                client_id=client_id or new_uid(),
                agent=agent,
                conversation=opened.conversation,
                kind=kind,
                acts_for=acts_for(agent, trigger),
                trigger_message=trigger,
                recovery_of=old,
                generation=opened.conversation.generation,
                started_seq=opened.seq(),
                started_at=opened.at,
                deadline_at=opened.at + deadline,
            )
            if old is not None and old.status == Run.Status.RUNNING:
                for move in hooks.run_recovered:
                    move(opened, old, run)
                end_run(opened, old, Run.Status.ABORTED, reason="recovered")
            opened.touch(opened.stream())
    except IntegrityError as error:
        raise RunIdInUse from error
    return run, True


def run_deadline(seconds: int | None) -> dt.timedelta:
    """How long the run may take. Raises InvalidInput outside 1 second to 30 days."""
    if seconds is None:
        return DEFAULT_DEADLINE
    if not 1 <= seconds <= MAX_DEADLINE.total_seconds():
        limit = int(MAX_DEADLINE.total_seconds())
        raise invalid("deadlineSeconds", "range", f"A deadline is 1 to {limit} seconds.", limit=limit)
    return dt.timedelta(seconds=seconds)


def same_run(earlier: Run, conversation: Conversation, kind: str) -> Run:
    """The run that this id opened before, if the request is the same; else raises RunIdInUse."""
    if (earlier.conversation_id, earlier.kind) != (conversation.pk, kind):
        raise RunIdInUse
    return earlier


def find_trigger(conversation: Conversation, uid: str | None) -> Message | None:
    """The person's message that a run answers. Raises InvalidInput when it is not one of this conversation."""
    if uid is None:
        return None
    trigger = Message.objects.filter(conversation=conversation, uid=uid, kind=Message.Kind.PERSON).first()
    if trigger is None:
        raise invalid("triggerMessageId", "unknown_message", "This is no person's message of this session.")
    return trigger


def acts_for(agent: Agent, trigger: Message | None) -> User | None:
    """The person whose authority the run has, fixed by the server and never taken from the caller."""
    return trigger.author if trigger is not None else agent.owner


def end_run(opened: Change, run: Run, status: str, *, reason: str) -> None:
    """Ends a running run inside an open change and tells higher layers. Raises RunAlreadyEnded if it lost."""
    changed = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING).update(
        status=status, end_reason=reason, ended_seq=opened.seq(), ended_at=opened.at
    )
    if changed != 1:
        raise RunAlreadyEnded
    run.status, run.end_reason = status, reason
    run.ended_seq, run.ended_at = opened.conversation.seq, opened.at
    opened.redraw_work(run)
    for tell in hooks.run_ended:
        tell(opened, run)
    opened.touch(opened.stream())


def finish_run(*, actor_agent: Agent, client_id: str, status: str, at: dt.datetime | None = None) -> Run:
    """Ends a run as its agent says. A repeat of the same end is told that it stands.

    Raises InvalidInput, NotFound, RunAlreadyEnded (with the status that won).
    """
    if status not in {Run.Status.SUCCEEDED, Run.Status.FAILED, Run.Status.ABORTED}:
        raise invalid("status", "unknown_status", 'The status is "succeeded", "failed" or "aborted".')
    run = find_run(actor_agent, client_id)
    conversation = run.conversation
    conversation.agent = actor_agent
    with change(conversation, at) as opened:
        run.refresh_from_db(fields=["status", "end_reason", "ended_at", "ended_seq"])
        if run.status == status:
            return run
        if run.status != Run.Status.RUNNING:
            raise RunAlreadyEnded(extra={"status": run.status})
        end_run(opened, run, status, reason="finished")
    return run


def end_due_runs(*, limit: int = 100, at: dt.datetime | None = None) -> int:
    """Aborts runs past their deadline, each in its own transaction; how many. For the worker loop."""
    now = at or clock.now()
    due = Run.objects.filter(
        Q(held_until=None) | Q(held_until__lte=now), status=Run.Status.RUNNING, deadline_at__lte=now
    )
    ended = 0
    for run in due.select_related("conversation__agent", "acts_for").order_by("deadline_at")[:limit]:
        try:
            with change(run.conversation, at) as opened:
                end_run(opened, run, Run.Status.ABORTED, reason="deadline")
            ended += 1
        except RunAlreadyEnded:
            continue
        except Exception as error:
            # A poison row must not stop the loop: push it ahead and keep why.
            log.exception("run_sweep_failed", extra={"run": run.pk})
            with transaction.atomic():
                Run.objects.filter(pk=run.pk).update(held_until=now + PUSH_AHEAD, sweep_error=repr(error)[:2000])
    return ended
