"""The ends of a prompt, and More time: one conditional UPDATE each, one event, published after commit.

pending -> answered    a person, before `closes_at`
pending -> skipped     a person, before `closes_at`
pending -> expired     the clock: `expires_at` has passed, and no earlier run deadline
pending -> cancelled   its agent withdraws; its run ends or meets its deadline; the conversation is reset
"""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

from django.db import transaction
from django.db.models import Q

from controlui.chat import clock
from controlui.chat.ids import digest
from controlui.chat.models import Agent, Run, User
from controlui.chat.transitions import Change, change, statements
from controlui.chat.transitions.runs import PUSH_AHEAD
from controlui.errors import InvalidInput
from controlui.live.groups import prompt_group
from questions import events, schema
from questions.errors import AlreadyResolved, NoMoreTime
from questions.models import Prompt, PromptEvent

from .reminders import submit_answer

log = logging.getLogger(__name__)

Status = Prompt.Status


def answer_prompt(
    *,
    prompt: Prompt,
    user: User,
    answers: Any,
    surface: str,
    resolution_id: str | None = None,
    at: dt.datetime | None = None,
) -> tuple[Prompt, bool]:
    """Answers the whole prompt; `(prompt, first)`, not first when this very answer stood already. The answer of an
    async prompt goes out as a message, and stands once that is in history.

    `answers` is the wire map `{question id: [values]}`. Raises InvalidInput (the prompt stays pending),
    AlreadyResolved with the outcome that won.
    """
    try:
        values = schema.parse_answers(list(prompt.questions.all()), answers)
    except schema.Faults as faults:
        raise InvalidInput(details=faults.details) from faults
    if prompt.mode == Prompt.Mode.ASYNC:
        return submit_answer(
            prompt=prompt, user=user, answers=values, surface=surface, resolution_id=resolution_id, at=at
        )
    return by_person(prompt, Status.ANSWERED, user, surface, resolution_id, at, answers=values)


def skip_prompt(
    *, prompt: Prompt, user: User, surface: str, resolution_id: str | None = None, at: dt.datetime | None = None
) -> tuple[Prompt, bool]:
    """Declines the whole prompt. Raises AlreadyResolved with the outcome that won."""
    return by_person(prompt, Status.SKIPPED, user, surface, resolution_id, at)


def withdraw_prompt(*, prompt: Prompt, agent: Agent, surface: str, at: dt.datetime | None = None) -> Prompt:
    """Its agent takes the question back. A repeat finds it withdrawn. Raises AlreadyResolved."""
    with change(prompt.conversation, at) as opened:
        won = end(opened, prompt, Status.CANCELLED, reason="withdrawn", agent=agent, surface=surface)
        if not won:
            settle_late(opened, prompt)
    if not won and prompt.end_reason != "withdrawn":
        raise already_resolved(prompt)
    return prompt


def by_person(
    prompt: Prompt,
    status: str,
    user: User,
    surface: str,
    resolution_id: str | None,
    at: dt.datetime | None,
    answers: dict[str, list[str]] | None = None,
) -> tuple[Prompt, bool]:
    """An end by a person, with their receipt: a repeat of the same press is told that it stands (case 59)."""
    receipt = digest(resolution_id) if resolution_id else ""
    with change(prompt.conversation, at) as opened:
        won = end(opened, prompt, status, reason=status, user=user, surface=surface, answers=answers, receipt=receipt)
        if not won:
            settle_late(opened, prompt)
    if won:
        return prompt, True
    # Raised after the commit, so that an expiry noticed on the way is kept.
    if receipt and prompt.resolution_digest == receipt and prompt.ended_by_id == user.pk:
        return prompt, False
    raise already_resolved(prompt)


def end(
    opened: Change,
    prompt: Prompt,
    status: str,
    *,
    reason: str,
    user: User | None = None,
    agent: Agent | None = None,
    surface: str = "",
    answers: dict[str, list[str]] | None = None,
    receipt: str = "",
    late: bool = False,
) -> bool:
    """The one conditional UPDATE (design rule 1): whether this end won. `late`: by the clock, past its moment."""
    in_time = "closes_at <= %s" if late else "(closes_at IS NULL OR closes_at > %s)"
    pending = f"id = %s AND status = %s AND {in_time}"
    ended_at = min(opened.at, prompt.closes_at) if late and prompt.closes_at else opened.at
    changes: dict[str, Any] = {
        "status": status,
        "end_reason": reason,
        "ended_at": ended_at,
        "ended_by_id": user.pk if user else None,
        "surface": surface,
        "answers": answers,
        "resolution_digest": receipt,
        "ended_seq": opened.seq(),
    }
    if statements.update(Prompt, changes, pending, [prompt.pk, Status.PENDING, statements.moment(opened.at)]) != 1:
        return False
    for name, value in changes.items():
        setattr(prompt, name, value)
    prompt.ended_by = user
    opened.redraw(prompt.message)
    events.append(
        opened,
        prompt,
        PromptEvent.Kind(status),
        user=user,
        agent=agent,
        surface=surface,
        content={"reason": reason, **({"answers": answers} if answers is not None else {})},
    )
    opened.sendings.append((prompt_group(prompt.uid), {"type": "prompt.changed"}))
    return True


def settle_late(opened: Change, prompt: Prompt) -> None:
    """After a lost end: reads how the prompt stands, and writes down that its time had passed."""
    prompt.refresh_from_db()
    if prompt.status == Status.PENDING and not prompt.is_open(opened.at):
        expire(opened, prompt)


def expire(opened: Change, prompt: Prompt) -> bool:
    """Ends a prompt whose moment has passed: expired, or cancelled where its run's deadline came first."""
    if prompt.expires_at is not None and prompt.closes_at is not None and prompt.closes_at < prompt.expires_at:
        return end(opened, prompt, Status.CANCELLED, reason="run_deadline", late=True)
    return end(opened, prompt, Status.EXPIRED, reason="expired", late=True)


def already_resolved(prompt: Prompt) -> AlreadyResolved:
    """The error for a loser, with the winner's outcome (design rule 2)."""
    from questions import queries

    return AlreadyResolved(prompt, {"question": queries.record(prompt)})


def expire_due_prompts(*, limit: int = 100, at: dt.datetime | None = None) -> int:
    """Ends prompts past their moment, each in its own transaction; how many. For the worker loop."""
    now = at or clock.now()
    due = Prompt.objects.filter(Q(held_until=None) | Q(held_until__lte=now), status=Status.PENDING, closes_at__lte=now)
    ended = 0
    for prompt in due.select_related("conversation__agent", "message__stream").order_by("closes_at")[:limit]:
        try:
            with change(prompt.conversation, at) as opened:
                # More time may have been given since the row was found.
                prompt.refresh_from_db(fields=["expires_at", "closes_at"])
                ended += expire(opened, prompt)
        except Exception as error:
            # A poison row must not stop the loop: push it ahead and keep why.
            log.exception("prompt_sweep_failed", extra={"prompt": prompt.uid})
            with transaction.atomic():
                Prompt.objects.filter(pk=prompt.pk).update(held_until=now + PUSH_AHEAD, sweep_error=repr(error)[:2000])
    return ended


def extend_prompt(*, prompt: Prompt, user: User, surface: str, at: dt.datetime | None = None) -> Prompt:
    """More time: adds the first timeout again, up to `maxTimeoutSeconds` and the run's deadline.

    Raises AlreadyResolved, NoMoreTime.
    """
    with change(prompt.conversation, at) as opened:
        prompt.refresh_from_db()
        is_open = prompt.is_open(opened.at)
        longest = longest_wait(prompt)
        may_grow = is_open and prompt.expires_at is not None and longest is not None and longest > prompt.expires_at
        if may_grow:
            grow(opened, prompt, longest, user, surface)
        elif not is_open:
            settle_late(opened, prompt)
    if not is_open:
        raise already_resolved(prompt)
    if not may_grow:
        raise NoMoreTime
    return prompt


def longest_wait(prompt: Prompt) -> dt.datetime | None:
    """The moment past which More time never goes; None when the ask allowed none."""
    if prompt.max_timeout_seconds is None:
        return None
    longest = prompt.created_at + dt.timedelta(seconds=prompt.max_timeout_seconds)
    return min(longest, prompt.run.deadline_at) if prompt.run is not None else longest


def grow(opened: Change, prompt: Prompt, longest: dt.datetime | None, user: User, surface: str) -> None:
    """Writes the later deadline of an open prompt."""
    assert prompt.expires_at is not None
    assert longest is not None
    prompt.expires_at = min(prompt.expires_at + dt.timedelta(seconds=prompt.timeout_seconds or 0), longest)
    prompt.closes_at = prompt.expires_at
    Prompt.objects.filter(pk=prompt.pk, status=Status.PENDING).update(
        expires_at=prompt.expires_at, closes_at=prompt.closes_at
    )
    opened.redraw(prompt.message)
    content = {"expiresAt": prompt.expires_at.isoformat()}
    events.append(opened, prompt, PromptEvent.Kind.EXTENDED, user=user, surface=surface, content=content)
    opened.sendings.append((prompt_group(prompt.uid), {"type": "prompt.changed"}))


def cancel_prompts_of_run(opened: Change, run: Run) -> None:
    """The end of a run ends what it was waiting for (hook of chat). Async prompts stay."""
    reasons = {"deadline": "run_deadline", "reset": "superseded", "recovered": "superseded"}
    ended = "run_aborted" if run.status == Run.Status.ABORTED else "run_ended"
    cancel(opened, Q(run=run, mode=Prompt.Mode.BLOCKING), reasons.get(run.end_reason, ended))


def cancel_prompts_of_conversation(opened: Change) -> None:
    """A new generation leaves nothing pending of the old one (hook of chat)."""
    cancel(opened, Q(conversation=opened.conversation), "superseded")


def cancel(opened: Change, which: Q, reason: str) -> None:
    """Cancels pending prompts; one whose own time had passed before is expired instead."""
    pending = Prompt.objects.filter(which, status=Status.PENDING).select_related("message__stream")
    for prompt in pending.order_by("pk"):
        if prompt.is_open(opened.at):
            end(opened, prompt, Status.CANCELLED, reason=reason)
        else:
            expire(opened, prompt)


def move_prompts_to_run(opened: Change, old: Run, new: Run) -> None:
    """A recovery run takes over what the run it replaces was waiting for (hook of chat)."""
    pending = Prompt.objects.filter(run=old, status=Status.PENDING, mode=Prompt.Mode.BLOCKING)
    for prompt in pending.select_related("message__stream", "agent"):
        if not prompt.is_open(opened.at):
            continue
        closes_at = min(prompt.expires_at, new.deadline_at) if prompt.expires_at else new.deadline_at
        Prompt.objects.filter(pk=prompt.pk, status=Status.PENDING).update(run=new, closes_at=closes_at)
        opened.redraw(prompt.message)
        content = {"from": old.client_id, "to": new.client_id}
        events.append(opened, prompt, PromptEvent.Kind.MOVED, agent=prompt.agent, surface="api", content=content)
