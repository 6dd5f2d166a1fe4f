"""Async prompts through their transitions: the answer as a message, and the ways in and out of the dock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

import outbox.transitions as outbox
from conftest import ASK_THREE
from controlui.chat.access import Actor, visible_streams
from controlui.chat.models import Agent, Conversation, Message, User
from controlui.chat.transitions import finish_run, open_run, reset_conversation
from controlui.errors import ControlUIError
from outbox.models import Delivery
from outbox.transports import inbox
from questions import queries
from questions.errors import AlreadyResolved
from questions.models import Draft, Prompt, PromptEvent
from questions.queries import DockView
from questions.tests.test_events import broken_at
from questions.transitions import (
    answer_prompt,
    expire_due_prompts,
    reopen_reminder,
    save_draft,
    skip_prompt,
    withdraw_prompt,
)

pytestmark = pytest.mark.django_db

Asks = Callable[..., Prompt]
STAGING = {"deploy_target": ["Staging (Recommended)"]}
SENT = "> Where should I deploy?\n\nStaging (Recommended)"
LATER = dt.timedelta(seconds=61)


@pytest.fixture
def remind(ask: Asks) -> Asks:
    """Opens an async prompt."""
    return lambda **more: ask(mode="async", **more)


def fresh(prompt: Prompt) -> Prompt:
    return Prompt.objects.select_related("delivery", "conversation", "message__stream").get(pk=prompt.pk)


def delivery_of(prompt: Prompt) -> Delivery:
    found = fresh(prompt).delivery
    assert found is not None
    return found


def answered(prompt: Prompt, user: User, **more: Any) -> Prompt:
    return answer_prompt(prompt=fresh(prompt), user=user, answers=more.pop("answers", STAGING), surface="web", **more)[
        0
    ]


def kinds(prompt: Prompt) -> list[str]:
    return list(PromptEvent.objects.filter(prompt_uid=prompt.uid).order_by("number").values_list("kind", flat=True))


def docked(prompt: Prompt, user: User) -> bool:
    place = prompt.conversation
    streams = visible_streams(Actor(user=user), place)
    dock = queries.dock(place, user, DockView(prompt=prompt.uid), streams=streams)
    return dock is not None and dock.prompt.pk == prompt.pk


def succeed(agent: Agent, **more: Any) -> None:
    run, _created = open_run(agent=agent, session_key="main", **more)
    finish_run(actor_agent=agent, client_id=run.client_id, status="succeeded")


def lease_of(agent: Agent) -> outbox.Claimed:
    (claimed,) = inbox.take(agent)
    return claimed


def test_it_never_expires(remind: Asks) -> None:
    prompt = remind()
    assert (prompt.expires_at, prompt.closes_at, prompt.timeout_seconds) == (None, None, None)
    assert expire_due_prompts(at=timezone.now() + dt.timedelta(days=365)) == 0
    assert fresh(prompt).status == "pending"


def test_several_may_wait_beside_a_blocking_one_of_the_same_run(remind: Asks, ask: Asks, agent: Agent) -> None:
    run, _created = open_run(agent=agent, session_key="main")
    first = remind(runId=run.client_id)
    second = remind(runId=run.client_id, **ASK_THREE)
    ask(runId=run.client_id)
    assert {fresh(first).status, fresh(second).status} == {"pending"}


def test_its_own_run_may_end(remind: Asks, agent: Agent, ana: User) -> None:
    for status in ("succeeded", "failed", "aborted"):
        run, _created = open_run(agent=agent, session_key="main")
        prompt = remind(runId=run.client_id)
        finish_run(actor_agent=agent, client_id=run.client_id, status=status)
        assert fresh(prompt).status == "pending"
        assert docked(prompt, ana)


def test_the_answer_goes_out_as_a_message_and_counts_once_it_is_in_history(
    remind: Asks, agent: Agent, ben: User
) -> None:
    prompt = remind()
    answered(prompt, ben)
    claimed = lease_of(agent)
    item = inbox.item(claimed)
    assert (item["kind"], item["text"], item["answers"]) == ("answer", SENT, STAGING)
    assert (item["promptId"], item["replyTo"]) == (prompt.wire_id, prompt.message.uid)
    assert fresh(prompt).status == "submitted"
    assert not docked(prompt, ben)
    record = queries.record(fresh(prompt), for_agent=True)
    assert (record["status"], record["delivery"]["status"], "result" in record) == ("submitted", "sending", False)
    outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)
    found = fresh(prompt)
    assert (found.status, found.answers, found.ended_by, found.surface) == ("answered", STAGING, ben, "web")
    message = Message.objects.get(kind="person")
    assert (message.text, message.reply_to) == (SENT, prompt.message)
    assert queries.record(found)["result"] == {"status": "answered", "answers": {"answers": STAGING}}
    assert kinds(prompt) == ["opened", "submitted", "answered"]
    assert broken_at(prompt.conversation) == []


def test_one_delivery_however_often_it_is_pressed(remind: Asks, ana: User, ben: User) -> None:
    prompt = remind()
    answered(prompt, ben, resolution_id="press")
    assert answered(prompt, ben, resolution_id="press").status == "submitted"
    for who, press in ((ben, "another"), (ben, None), (ana, "press")):
        with pytest.raises(AlreadyResolved) as lost:
            answered(prompt, who, resolution_id=press)
        assert lost.value.body()["question"]["status"] == "submitted"
    assert Delivery.objects.count() == 1


def test_one_on_its_way_cannot_be_withdrawn_or_skipped(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    answered(prompt, ben)
    with pytest.raises(AlreadyResolved):
        withdraw_prompt(prompt=fresh(prompt), agent=agent, surface="api")
    with pytest.raises(AlreadyResolved):
        skip_prompt(prompt=fresh(prompt), user=ben, surface="web")
    assert fresh(prompt).status == "submitted"


def test_one_that_waits_is_withdrawn_and_superseded(remind: Asks, agent: Agent, ben: User) -> None:
    first, second, third = remind(), remind(), remind()
    withdraw_prompt(prompt=fresh(first), agent=agent, surface="api")
    answered(second, ben)
    reset_conversation(conversation=first.conversation)
    assert (fresh(first).end_reason, fresh(third).end_reason) == ("withdrawn", "superseded")
    assert fresh(second).status == "submitted"


def test_refused_then_retried(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    answered(prompt, ben)
    claimed = lease_of(agent)
    outbox.fail(delivery=claimed.delivery, lease=claimed.lease, code="refused", error="Not now.")
    assert (fresh(prompt).status, docked(prompt, ben)) == ("submitted", False)
    outbox.retry(delivery=claimed.delivery)
    again = lease_of(agent)
    assert (again.delivery.pk, again.delivery.text) == (claimed.delivery.pk, SENT)
    outbox.confirm(delivery=again.delivery, lease=again.lease)
    assert fresh(prompt).status == "answered"


def test_discard_brings_the_draft_back_and_boundaries_of_before_do_not_count(
    remind: Asks, agent: Agent, ana: User, ben: User
) -> None:
    prompt = remind()
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"chosen": ["o1"]}}, tab="t", tab_seq=1, revision=0)
    answered(prompt, ben)
    succeed(agent)
    outbox.discard(delivery=delivery_of(prompt))
    assert (fresh(prompt).status, fresh(prompt).delivery) == ("pending", None)
    assert docked(prompt, ben)
    assert docked(prompt, ana)
    assert Draft.objects.get(user=ben).values == {"deploy_target": {"chosen": ["o1"], "text": ""}}
    succeed(agent)
    assert not docked(prompt, ben)
    assert kinds(prompt) == ["opened", "submitted", "returned", "retired"]


def discarded(prompt: Prompt, agent: Agent, user: User) -> tuple[Delivery, str]:
    """An answer that the agent took, that became unconfirmed and was discarded; its delivery and lease."""
    answered(prompt, user)
    claimed = lease_of(agent)
    outbox.recover_stuck(at=timezone.now() + LATER)
    outbox.discard(delivery=claimed.delivery)
    return claimed.delivery, claimed.lease


def test_an_acceptance_after_discard_answers_what_is_still_pending(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    delivery, lease = discarded(prompt, agent, ben)
    outbox.confirm(delivery=delivery, lease=lease)
    found = fresh(prompt)
    assert (found.status, found.answers, found.delivery) == ("answered", STAGING, delivery)
    assert not Message.objects.get(kind="person").late


@pytest.mark.parametrize("newer_is", ["queued", "failed", "sending", "unconfirmed", "confirmed"])
def test_an_acceptance_after_discard_and_a_newer_answer(remind: Asks, agent: Agent, ben: User, newer_is: str) -> None:
    prompt = remind()
    delivery, lease = discarded(prompt, agent, ben)
    other = {"deploy_target": ["Production"]}
    answered(prompt, ben, answers=other)
    newer = fresh(prompt).delivery
    assert newer is not None
    if newer_is != "queued":
        claimed = lease_of(agent)
        if newer_is == "failed":
            outbox.fail(delivery=newer, lease=claimed.lease, code="refused", error="No.")
        elif newer_is == "unconfirmed":
            outbox.recover_stuck(at=timezone.now() + LATER)
        elif newer_is == "confirmed":
            outbox.confirm(delivery=newer, lease=claimed.lease)
    outbox.confirm(delivery=delivery, lease=lease)
    found, newer = fresh(prompt), Delivery.objects.get(pk=newer.pk)
    late = Message.objects.get(uid=delivery.uid).late
    if newer_is in {"queued", "failed"}:
        assert (found.status, found.answers, found.end_reason) == ("answered", STAGING, "accepted_late")
        assert (newer.status, late) == ("discarded", False)
    else:
        expected = "answered" if newer_is == "confirmed" else "submitted"
        assert (found.status, found.delivery, late) == (expected, newer, True)
        assert newer.status == newer_is


def test_an_acceptance_after_the_question_was_skipped_is_late(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    delivery, lease = discarded(prompt, agent, ben)
    skip_prompt(prompt=fresh(prompt), user=ben, surface="web")
    outbox.confirm(delivery=delivery, lease=lease)
    assert (fresh(prompt).status, Message.objects.get(kind="person").late) == ("skipped", True)


@pytest.mark.parametrize(
    ("text", "answers", "unsplit"),
    [
        ("> Where should I deploy?\n\nProduction", {"deploy_target": ["Production"]}, False),
        ("> Where should I deploy?\n\nTo the moon", {"deploy_target": ["To the moon"]}, False),
        ("Neither, please wait", {}, True),
    ],
)
def test_an_edited_answer_is_read_by_its_headings_or_stands_whole(
    remind: Asks, agent: Agent, ben: User, text: str, answers: dict[str, list[str]], unsplit: bool
) -> None:
    prompt = remind()
    answered(prompt, ben)
    outbox.edit(delivery=delivery_of(prompt), text=text)
    claimed = lease_of(agent)
    assert "answers" not in inbox.item(claimed)
    outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)
    found = fresh(prompt)
    assert (found.status, found.answers, found.answer_text) == ("answered", answers, text if unsplit else "")
    result = queries.record(found)["result"]
    assert result == {"status": "answered", "answers": {"answers": answers}} | ({"text": text} if unsplit else {})


def by_hand(conversation: Conversation, agent: Agent, user: User, text: str, reply_to: Message | None = None) -> None:
    """A message that a person writes in the composer, accepted by the agent."""
    outbox.enqueue(
        conversation=conversation, author=user, text=text, key=f"hand-{Delivery.objects.count()}", reply_to=reply_to
    )
    claimed = lease_of(agent)
    outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SENT, "answered"),
        ("Staging (Recommended)", "pending"),
        ("> Where else?\n\nStaging", "pending"),
        ("> Where should I deploy?\n\n ", "pending"),
    ],
)
def test_a_message_written_by_hand_answers_what_it_quotes(
    remind: Asks, conversation: Conversation, agent: Agent, ben: User, text: str, status: str
) -> None:
    prompt = remind()
    by_hand(conversation, agent, ben, text)
    assert fresh(prompt).status == status


def test_two_questions_of_the_same_words_are_never_guessed(
    remind: Asks, conversation: Conversation, agent: Agent, ben: User
) -> None:
    old, new = remind(), remind()
    by_hand(conversation, agent, ben, SENT)
    assert (fresh(old).status, fresh(new).status) == ("pending", "pending")
    by_hand(conversation, agent, ben, "that one", reply_to=new.message)
    assert (fresh(old).status, fresh(new).status) == ("pending", "answered")
    assert fresh(new).answer_text == "that one"


def test_a_person_who_may_not_answer_answers_nothing_by_quoting(
    remind: Asks, conversation: Conversation, agent: Agent, vic: User
) -> None:
    prompt = remind()
    conversation.memberships.filter(user=vic).update(role="participant")
    by_hand(conversation, agent, vic, SENT)
    assert fresh(prompt).status == "pending"


def test_a_later_success_moves_it_to_history_and_nothing_else(remind: Asks, agent: Agent, ana: User) -> None:
    prompt = remind()
    succeed(agent, kind="subagent")
    run, _created = open_run(agent=agent, session_key="main")
    finish_run(actor_agent=agent, client_id=run.client_id, status="failed")
    assert docked(prompt, ana)
    succeed(agent)
    found = fresh(prompt)
    assert (found.status, found.retired_at is not None, docked(prompt, ana)) == ("pending", True, False)
    assert queries.waiting_total(Actor(user=ana)) == 0
    record = queries.record(found, for_agent=True)
    assert (record["status"], "result" in record) == ("pending", False)
    # In history it can still be answered, withdrawn or skipped.
    answered(prompt, ana)
    assert fresh(prompt).status == "submitted"


def test_who_had_typed_keeps_it(remind: Asks, agent: Agent, ana: User, ben: User) -> None:
    """J12."""
    prompt = remind()
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"text": "wait"}}, tab="t", tab_seq=1, revision=0)
    succeed(agent)
    assert (docked(prompt, ben), docked(prompt, ana)) == (True, False)
    assert (queries.waiting_total(Actor(user=ben)), queries.waiting_total(Actor(user=ana))) == (1, 0)


def test_who_had_cleared_their_text_again_does_not(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    for number, text in enumerate(["wait", ""], 1):
        save_draft(
            prompt=prompt, user=ben, values={"deploy_target": {"text": text}}, tab="t", tab_seq=number, revision=9
        )
    succeed(agent)
    assert not docked(prompt, ben)


def test_reopened_it_leaves_at_the_next_boundary_with_its_draft_kept(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"text": "hm"}}, tab="t", tab_seq=1, revision=0)
    skip_prompt(prompt=fresh(prompt), user=ben, surface="web")
    reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")
    assert docked(prompt, ben)
    succeed(agent)
    assert not docked(prompt, ben)
    assert Draft.objects.get().values == {"deploy_target": {"chosen": [], "text": "hm"}}
    reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"text": "hm!"}}, tab="t", tab_seq=2, revision=9)
    succeed(agent)
    assert docked(prompt, ben)


def test_it_stays_where_somebody_types_though_their_last_words_are_saved_after_the_boundary(
    remind: Asks, agent: Agent, ana: User, ben: User
) -> None:
    prompt = remind()
    succeed(agent)
    assert not docked(prompt, ben)
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"text": "hm"}}, tab="t", tab_seq=1, revision=0)
    assert docked(prompt, ben)
    assert not docked(prompt, ana)


@pytest.mark.parametrize("state", ["queued", "sending", "failed", "unconfirmed"])
def test_one_whose_answer_is_under_way_or_failed_is_not_moved_to_history(
    remind: Asks, agent: Agent, ana: User, ben: User, state: str
) -> None:
    """J13: it stands in the outbox with its controls, and Discard brings it back into the dock."""
    prompt = remind()
    answered(prompt, ben)
    if state != "queued":
        claimed = lease_of(agent)
        if state == "failed":
            outbox.fail(delivery=claimed.delivery, lease=claimed.lease, code="refused", error="No.")
        elif state == "unconfirmed":
            outbox.recover_stuck(at=timezone.now() + LATER)
    succeed(agent)
    assert (fresh(prompt).status, fresh(prompt).retired_at, delivery_of(prompt).status) == ("submitted", None, state)
    if state != "sending":
        outbox.discard(delivery=delivery_of(prompt))
        assert docked(prompt, ben)


def test_skip_sends_nothing_and_undo_brings_it_back(remind: Asks, agent: Agent, ben: User) -> None:
    prompt = remind()
    save_draft(prompt=prompt, user=ben, values={"deploy_target": {"text": "hm"}}, tab="t", tab_seq=1, revision=0)
    skip_prompt(prompt=fresh(prompt), user=ben, surface="web")
    assert (fresh(prompt).status, docked(prompt, ben), Delivery.objects.count()) == ("skipped", False, 0)
    assert queries.record(fresh(prompt), for_agent=True)["result"]["reason"] == "skipped"
    reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")
    found = fresh(prompt)
    assert (found.status, found.ended_by, docked(prompt, ben)) == ("pending", None, True)
    assert Draft.objects.get().values == {"deploy_target": {"chosen": [], "text": "hm"}}
    # A second press finds it there.
    reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")
    assert kinds(prompt) == ["opened", "skipped", "reopened"]


@pytest.mark.parametrize("end", ["answered", "submitted", "cancelled"])
def test_what_ended_otherwise_is_not_reopened(remind: Asks, agent: Agent, ben: User, end: str) -> None:
    prompt = remind()
    if end == "cancelled":
        withdraw_prompt(prompt=fresh(prompt), agent=agent, surface="api")
    else:
        answered(prompt, ben)
    if end == "answered":
        claimed = lease_of(agent)
        outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)
    with pytest.raises(AlreadyResolved):
        reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")
    assert fresh(prompt).status == end


def test_a_blocking_question_is_not_reopened(ask: Asks, ben: User) -> None:
    prompt = ask()
    skip_prompt(prompt=prompt, user=ben, surface="web")
    with pytest.raises(ControlUIError):
        reopen_reminder(prompt=fresh(prompt), user=ben, surface="web")


def test_a_recovery_that_succeeds_is_a_boundary(remind: Asks, agent: Agent, ana: User) -> None:
    old, _created = open_run(agent=agent, session_key="main")
    prompt = remind(runId=old.client_id)
    succeed(agent, recovery_of=old.client_id)
    assert not docked(prompt, ana)
