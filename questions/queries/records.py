"""The wire record of a prompt, and the lists of prompts. A row past its moment is *shown* as ended."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from controlui.chat import clock
from controlui.chat.access import Actor, ByScopes
from controlui.chat.models import User, wire_time
from questions.access import prompts_for
from questions.models import Draft, Prompt, Question

Status = Prompt.Status
NO_ANSWER = {Status.SKIPPED, Status.EXPIRED, Status.CANCELLED}
ADVICE = "Continue with your best judgment, and do not ask the same question again."
SENTENCES = {
    "expired": "Nobody answered in time.",
    "skipped": "The person declined to answer.",
    "withdrawn": "You withdrew the question.",
    "run_aborted": "The run was aborted while the question was open.",
    "run_ended": "The run ended while the question was open.",
    "run_deadline": "The run reached its time limit while the question was open.",
    "superseded": "The session was started anew while the question was open.",
    "undeliverable": "The question could not be shown to anybody.",
}
IN_TEXT = "Nobody has answered twice in a row: if you must know, say so in your reply instead of asking again."


def shown_as(prompt: Prompt, at: dt.datetime) -> tuple[str, str]:
    """`(status, end_reason)` at a moment: reads never write, so a row past its moment only looks ended."""
    if prompt.status != Status.PENDING or prompt.is_open(at):
        return prompt.status, prompt.end_reason
    if prompt.expires_at and prompt.closes_at and prompt.closes_at < prompt.expires_at:
        return Status.CANCELLED, "run_deadline"
    return Status.EXPIRED, "expired"


def record(prompt: Prompt, *, for_agent: bool = False, at: dt.datetime | None = None) -> dict[str, Any]:
    """A prompt on the wire (design section 5). Agents see `no_answer` for every end without an answer."""
    status, reason = shown_as(prompt, at or clock.now())
    data: dict[str, Any] = {
        "id": prompt.wire_id,
        "mode": prompt.mode,
        "status": "no_answer" if for_agent and status in NO_ANSWER else status,
        "expiresAt": wire_time(prompt.expires_at),
        "timeoutSeconds": prompt.timeout_seconds,
        "questions": [question_record(question) for question in prompt.questions.all()],
        "createdAt": wire_time(prompt.created_at),
    }
    if prompt.max_timeout_seconds is not None:
        data["maxTimeoutSeconds"] = prompt.max_timeout_seconds
    if not prompt.conversation.sessionless:
        data["sessionKey"] = prompt.conversation.key
    if prompt.run is not None:
        data["runId"] = prompt.run.client_id
    if not for_agent and prompt.client_id is not None:
        data["uid"] = prompt.uid
    if prompt.mode == Prompt.Mode.ASYNC and prompt.delivery is not None:
        data["delivery"] = {"id": prompt.delivery.uid, "status": prompt.delivery.status}
    outcome = result(prompt, status, reason)
    if outcome is not None:
        data["result"] = outcome
    return data


def question_record(question: Question) -> dict[str, Any]:
    """A question on the wire, as the seed names its fields."""
    options = [
        {"label": option["label"], **({"description": option["description"]} if option["description"] else {})}
        for option in question.options
    ]
    data = {"id": question.key, "header": question.header, "question": question.text, "options": options}
    return data | {"multiSelect": question.multi_select}


def result(prompt: Prompt, status: str, reason: str) -> dict[str, Any] | None:
    """The seed's result JSON once the prompt has ended; None before."""
    if status == Status.ANSWERED:
        # An async answer whose parts are not certain comes as its whole text (seed, saved replies).
        text = {"text": prompt.answer_text} if prompt.answer_text else {}
        return {"status": "answered", "answers": {"answers": prompt.answers}, **text}
    if status not in NO_ANSWER:
        return None
    sentence = SENTENCES.get(reason, "The question was cancelled.")
    advice = f"{ADVICE} {IN_TEXT}" if reason == "expired" and expired_before(prompt) else ADVICE
    return {"status": "no_answer", "reason": reason or "cancelled", "message": f"{sentence} {advice}"}


def expired_before(prompt: Prompt) -> bool:
    """Whether the prompt before this one in its conversation expired too (bugs case 48)."""
    if "status_before" not in prompt.__dict__:
        # Of the same audience: nobody learns of a prompt that is hidden from them (design rule 8).
        earlier = Prompt.objects.filter(message__stream=prompt.message.stream_id, pk__lt=prompt.pk)
        return earlier.order_by("-pk").values_list("status", flat=True).first() == Status.EXPIRED
    return bool(prompt.__dict__["status_before"] == Status.EXPIRED)


def waiting(at: dt.datetime) -> Q:
    """The prompts that still take an answer at a moment."""
    return Q(status=Status.PENDING) & (Q(closes_at=None) | Q(closes_at__gt=at))


def docked(user: User | None) -> Q:
    """The prompts that stand in this person's dock and not in history: a retired one stays where they had typed."""
    if user is None:
        return Q(retired_at=None)
    return Q(retired_at=None) | Q(pk__in=Draft.objects.filter(user=user, kept=True).values("prompt"))


_waiting = ByScopes(
    lambda actor, at: (
        prompts_for(actor, answering=True)
        .filter(waiting(at), docked(actor.user))
        .order_by()
        .values_list("conversation")
        .annotate(Count("pk"))
    ),
    dt.datetime,
)


def waiting_counts(actor: Actor, at: dt.datetime | None = None) -> dict[int, int]:
    """How many prompts wait for this person, by conversation pk; only what they may answer is counted.

    The sum of them all is the number in the title (bugs case 107).
    """
    return dict(_waiting(actor.user, at or clock.now())) if actor.user is not None else {}


def waiting_total(actor: Actor, at: dt.datetime | None = None) -> int:
    """How many prompts wait for this person anywhere."""
    return sum(waiting_counts(actor, at).values())


def listed(actor: Actor, *, status: str = "", at: dt.datetime | None = None) -> QuerySet[Prompt]:
    """The actor's prompts, newest first, by the status they are shown with (`no_answer`: any end without one)."""
    # A list must not ask for each of its rows what `expired_before` asks for one.
    before = Prompt.objects.filter(message__stream=OuterRef("message__stream"), pk__lt=OuterRef("pk")).order_by("-pk")
    found = prompts_for(actor).annotate(status_before=Subquery(before.values("status")[:1])).order_by("-pk")
    # Only what a record shows: a row with everything that a summary shows costs three times as much.
    found = found.select_related("conversation", "run", "delivery").prefetch_related("questions")
    at = at or clock.now()
    due = Q(status=Status.PENDING, closes_at__lte=at)
    by_run = Q(closes_at__lt=F("expires_at"))
    rules = {
        Status.PENDING: waiting(at),
        Status.EXPIRED: Q(status=Status.EXPIRED) | (due & ~by_run),
        Status.CANCELLED: Q(status=Status.CANCELLED) | (due & by_run),
        "no_answer": Q(status__in=NO_ANSWER) | due,
    }
    return found.filter(rules.get(status, Q(status=status))) if status else found
