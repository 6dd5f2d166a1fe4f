"""Async prompts: their answer goes out as a message, and they leave and re-enter the dock by rule.

pending -> submitted    a person's answer is on its way as an ordinary message
submitted -> answered   the agent accepted it (or, without a delivery of its own, a saved reply matches)
submitted -> pending    the delivery was discarded: back into the dock, with the draft
skipped -> pending      Undo, or Answer in the timeline
"No longer pending" is `retired_at`, and no status.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import F

import outbox.transitions as outbox
from controlui.chat.access import Actor, sees_prompts_for
from controlui.chat.ids import digest
from controlui.chat.models import Message, Run, User
from controlui.chat.transitions import Change, change
from controlui.live.groups import prompt_group
from outbox.models import Delivery
from questions import events, replies
from questions.models import Draft, Prompt, PromptEvent
from questions.retirement import PromptFacts, RunFacts, retired

Status = Prompt.Status
Going = Delivery.Status


def submit_answer(
    *,
    prompt: Prompt,
    user: User,
    answers: dict[str, list[str]],
    surface: str,
    resolution_id: str | None = None,
    at: dt.datetime | None = None,
) -> tuple[Prompt, bool]:
    """Sends the (checked) answer of an async prompt as a message; `(prompt, first)`.

    One current delivery per prompt, however often and from wherever it is pressed. Raises AlreadyResolved with how it
    stands, unless this very press was the one.
    """
    from .ends import already_resolved

    receipt = digest(resolution_id) if resolution_id else ""
    questions = list(prompt.questions.all())
    with change(prompt.conversation, at) as opened:
        prompt.refresh_from_db()
        first = prompt.status == Status.PENDING
        if first:
            delivery = outbox.enqueue_in(
                opened,
                author=user,
                text=replies.message_of(questions, answers),
                key=f"answer-{prompt.uid}-{opened.seq()}",
                reply_to=prompt.message,
                about=prompt.uid,
                about_wire_id=prompt.wire_id,
                answers=answers,
            )
            changes: dict[str, Any] = {
                "status": Status.SUBMITTED,
                "delivery": delivery,
                "surface": surface,
                "resolution_digest": receipt,
            }
            put(opened, prompt, changes, before=[Status.PENDING])
            content = {"answers": answers, "delivery": delivery.uid}
            record(opened, prompt, PromptEvent.Kind.SUBMITTED, user=user, surface=surface, content=content)
    if first or (receipt and prompt.resolution_digest == receipt and sent_by(prompt, user)):
        return prompt, first
    raise already_resolved(prompt)


def sent_by(prompt: Prompt, user: User) -> bool:
    """Whether the present answer is this person's."""
    return prompt.delivery is not None and prompt.delivery.author_id == user.pk


def put(opened: Change, prompt: Prompt, changes: dict[str, Any], *, before: list[str]) -> bool:
    """One conditional UPDATE of an async prompt; whether it won. The object follows, the row is drawn anew."""
    if Prompt.objects.filter(pk=prompt.pk, mode=Prompt.Mode.ASYNC, status__in=before).update(**changes) != 1:
        return False
    for name, value in changes.items():
        setattr(prompt, name, value)
    opened.redraw(prompt.message)
    opened.sendings.append((prompt_group(prompt.uid), {"type": "prompt.changed"}))
    return True


def record(opened: Change, prompt: Prompt, kind: str, **facts: Any) -> None:
    """The audit row."""
    events.append(opened, prompt, kind, **facts)


# -- what becomes of the delivery -----------------------------------------------------------------


def follow_delivery(opened: Change, delivery: Delivery, previous: str) -> None:
    """A delivery changed (hook of outbox): its prompt follows, in the same transaction."""
    if not previous:
        return
    if not delivery.about:
        if delivery.status == Going.CONFIRMED and previous != Going.CONFIRMED and delivery.message is not None:
            match_reply(opened, delivery, delivery.message)
        return
    prompt = Prompt.objects.select_related("message__stream", "delivery", "agent").get(uid=delivery.about)
    is_current = prompt.delivery_id == delivery.pk
    if delivery.status == Going.CONFIRMED:
        accept(opened, prompt, delivery)
    elif delivery.status == Going.DISCARDED and is_current and prompt.status == Status.SUBMITTED:
        take_back(opened, prompt)
    elif is_current:
        opened.redraw(prompt.message)


def accept(opened: Change, prompt: Prompt, delivery: Delivery) -> None:
    """The agent has this answer. Of two, the one that the agent accepted wins over one that it cannot have seen yet;
    where that is out already, this one is an ordinary message, marked late (design section 6)."""
    newer = prompt.delivery if prompt.delivery_id != delivery.pk else None
    reason = "answered"
    if prompt.status == Status.SUBMITTED and newer is not None:
        if newer.status not in {Going.QUEUED, Going.FAILED}:
            return mark_late(delivery)
        reason = "accepted_late"
    elif prompt.status not in {Status.PENDING, Status.SUBMITTED}:
        return mark_late(delivery)
    answers = delivery.answers
    settle(opened, prompt, delivery, answers=answers, user=delivery.author, reason=reason)
    if newer is not None:
        newer.conversation = opened.conversation
        outbox.discard_in(opened, newer)
    return None


def mark_late(delivery: Delivery) -> None:
    """An answer that came after its question was settled."""
    assert delivery.message is not None
    delivery.message.late = True
    Message.objects.filter(pk=delivery.message.pk).update(late=True)


def settle(
    opened: Change,
    prompt: Prompt,
    delivery: Delivery,
    *,
    answers: dict[str, list[str]] | None,
    user: User,
    reason: str = "answered",
) -> None:
    """The prompt is answered by a message in history. Without structured answers (it was edited, or typed by hand) its
    headings say which part answers what; where they do not, the text stands unsplit."""
    questions = list(prompt.questions.all())
    if answers is None:
        answers = replies.read(questions, delivery.text)
    text = delivery.text if answers is None else ""
    changes = {
        "status": Status.ANSWERED,
        "end_reason": reason,
        "ended_at": opened.at,
        "ended_seq": opened.seq(),
        "ended_by": user,
        "surface": prompt.surface or "web",
        "answers": answers if answers is not None else {},
        "answer_text": text,
        "delivery": delivery,
        "retired_at": None,
    }
    put(opened, prompt, changes, before=[Status.PENDING, Status.SUBMITTED])
    content = {"reason": reason, "answers": answers, "text": text, "delivery": delivery.uid}
    record(opened, prompt, PromptEvent.Kind.ANSWERED, user=user, surface=prompt.surface, content=content)


def take_back(opened: Change, prompt: Prompt) -> None:
    """Its delivery was discarded: the prompt is in the dock again, with its draft, past every boundary so far."""
    user = prompt.delivery.author if prompt.delivery is not None else None
    surface = prompt.surface
    if reopen(opened, prompt, before=[Status.SUBMITTED]):
        record(opened, prompt, PromptEvent.Kind.RETURNED, user=user, surface=surface)


def match_reply(opened: Change, delivery: Delivery, message: Message) -> None:
    """A message that a person wrote by hand may answer a question: the one that it replies to, else the only one whose
    headings it quotes (study 4.5). None, or several: nothing is guessed."""
    open_ones = Prompt.objects.filter(
        conversation=opened.conversation, mode=Prompt.Mode.ASYNC, status=Status.PENDING
    ).select_related("message__stream", "agent")
    if message.reply_to_id is not None:
        found = list(open_ones.filter(message=message.reply_to_id))
    elif message.text.startswith("> "):
        asked = open_ones.prefetch_related("questions").order_by("pk")
        found = [each for each in asked if replies.read(list(each.questions.all()), message.text) is not None]
    else:
        return
    actor = Actor(user=message.author)
    found = [each for each in found if sees_prompts_for(actor, opened.conversation, each.message.stream.audience_id)]
    if len(found) == 1 and message.author is not None:
        settle(opened, found[0], delivery, answers=None, user=message.author)


# -- in and out of the dock -----------------------------------------------------------------------


def retire_reminders(opened: Change, run: Run) -> None:
    """A main run succeeded (hook of chat): what it makes old goes to history, still pending and still answerable."""
    if run.status != Run.Status.SUCCEEDED or run.kind != Run.Kind.MAIN:
        return
    reminders = Prompt.objects.filter(
        conversation=opened.conversation, mode=Prompt.Mode.ASYNC, status=Status.PENDING, retired_at=None
    ).select_related("message__stream", "run", "agent")
    for prompt in reminders.order_by("pk"):
        known = [run, prompt.run] if prompt.run is not None and prompt.run.pk != run.pk else [run]
        if retired(facts_of(prompt), [facts_of_run(each) for each in known]) is None:
            continue
        if put(opened, prompt, {"retired_at": opened.at}, before=[Status.PENDING]):
            # Who had typed by now keeps it in their dock. This locks the rows: a save at once is before it or after.
            Draft.objects.filter(prompt=prompt).update(kept=F("edited"))
            record(opened, prompt, PromptEvent.Kind.RETIRED, content={"run": run.client_id})


def facts_of(prompt: Prompt) -> PromptFacts:
    """A prompt as the rule sees it."""
    return PromptFacts(opened=prompt.opened_seq, run=prompt.run_id, reopened=prompt.reopened_seq)


def facts_of_run(run: Run) -> RunFacts:
    """A run as the rule sees it."""
    return RunFacts(
        id=run.pk,
        main=run.kind == Run.Kind.MAIN,
        succeeded=run.status == Run.Status.SUCCEEDED,
        started=run.started_seq,
        ended=run.ended_seq,
        recovers=run.recovery_of_id,
    )


def reopen_reminder(*, prompt: Prompt, user: User, surface: str, at: dt.datetime | None = None) -> Prompt:
    """Undo of a Skip, or Answer in the timeline: the async prompt stands in the dock again, its draft as it was.

    One that stands there already is left alone. Raises AlreadyResolved.
    """
    from .ends import already_resolved

    with change(prompt.conversation, at) as opened:
        prompt.refresh_from_db()
        may = prompt.mode == Prompt.Mode.ASYNC and prompt.status in {Status.PENDING, Status.SKIPPED}
        gone = prompt.status == Status.SKIPPED or prompt.retired_at is not None
        if may and gone and reopen(opened, prompt, before=[Status.PENDING, Status.SKIPPED]):
            record(opened, prompt, PromptEvent.Kind.REOPENED, user=user, surface=surface)
    if not may:
        raise already_resolved(prompt)
    return prompt


def reopen(opened: Change, prompt: Prompt, *, before: list[str]) -> bool:
    """Pending and in the dock until a boundary from now on. Drafts stay; what was typed before keeps it no longer."""
    changes = {
        "status": Status.PENDING,
        "end_reason": "",
        "ended_at": None,
        "ended_seq": None,
        "ended_by": None,
        "surface": "",
        "resolution_digest": "",
        "delivery": None,
        "retired_at": None,
        "reopened_seq": opened.seq(),
    }
    if not put(opened, prompt, changes, before=before):
        return False
    Draft.objects.filter(prompt=prompt).update(edited=False, kept=False)
    return True
