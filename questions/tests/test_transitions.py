"""Prompts: who wins, what is written, and that nothing else is (design rules 1, 2, 7)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone

from conftest import ASK_THREE
from controlui.chat.errors import KeyReused, RunEnded
from controlui.chat.models import Agent, Conversation, Stream, User
from controlui.chat.transitions import end_due_runs, finish_run, open_run, reset_conversation
from controlui.errors import InvalidInput
from questions import queries, schema
from questions.errors import (
    AlreadyResolved,
    NoMoreTime,
    NotMainSession,
    PromptAlreadyPending,
    PromptIdInUse,
    TooManyPending,
)
from questions.models import Prompt, PromptEvent
from questions.transitions import (
    answer_prompt,
    expire_due_prompts,
    extend_prompt,
    open_prompt,
    skip_prompt,
    withdraw_prompt,
)

Asks = Callable[..., Prompt]
STAGING = {"deploy_target": ["Staging (Recommended)"]}


def in_seconds(seconds: float) -> dt.datetime:
    """A moment that many seconds from now."""
    return timezone.now() + dt.timedelta(seconds=seconds)


def kinds(prompt: Prompt) -> list[str]:
    """The prompt's events, in order."""
    return list(PromptEvent.objects.filter(prompt_uid=prompt.uid).order_by("number").values_list("kind", flat=True))


def outcome(prompt: Prompt) -> object:
    """The result that the agent gets."""
    fresh = Prompt.objects.get(pk=prompt.pk)
    return queries.record(fresh, for_agent=True).get("result")


def test_an_answer_is_stored_as_the_seed_shows_it(ask: Asks, ana: User) -> None:
    prompt = ask()
    answered, first = answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web")
    assert first
    assert outcome(answered) == {"status": "answered", "answers": {"answers": STAGING}}
    fresh = Prompt.objects.get(pk=prompt.pk)
    assert (fresh.status, fresh.ended_by, fresh.surface, fresh.end_reason) == ("answered", ana, "web", "answered")
    assert kinds(prompt) == ["opened", "answered"]


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"deploy_target": []},
        {"deploy_target": [""]},
        {"deploy_target": ["   "]},
        {"deploy_target": ["\u200b"]},
        {"deploy_target": ["a", "b"]},
        {"deploy_target": ["a"], "other": ["x"]},
        {"deploy_target": "a"},
        [],
        None,
    ],
)
def test_a_bad_answer_leaves_the_prompt_pending(ask: Asks, ana: User, answers: object) -> None:
    prompt = ask()
    with pytest.raises(InvalidInput) as caught:
        answer_prompt(prompt=prompt, user=ana, answers=answers, surface="web")
    assert caught.value.details
    assert Prompt.objects.get(pk=prompt.pk).status == "pending"
    assert kinds(prompt) == ["opened"]


def test_the_second_answer_loses_and_learns_who_won(ask: Asks, ana: User, ben: User) -> None:
    prompt = ask()
    answer_prompt(prompt=Prompt.objects.get(pk=prompt.pk), user=ben, answers={"deploy_target": ["Mine"]}, surface="api")
    with pytest.raises(AlreadyResolved) as caught:
        answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web")
    assert caught.value.extra["question"]["result"]["answers"]["answers"] == {"deploy_target": ["Mine"]}
    assert caught.value.prompt.ended_by == ben
    assert kinds(prompt) == ["opened", "answered"]


def test_the_same_receipt_again_is_told_that_its_answer_stands(ask: Asks, ana: User, ben: User) -> None:
    prompt = ask()
    again = Prompt.objects.get(pk=prompt.pk)
    answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web", resolution_id="r-1")
    repeated, first = answer_prompt(prompt=again, user=ana, answers=STAGING, surface="web", resolution_id="r-1")
    assert (repeated.status, first) == ("answered", False)
    for user, receipt in ((ana, "r-2"), (ben, "r-1"), (ana, None)):
        with pytest.raises(AlreadyResolved):
            answer_prompt(prompt=again, user=user, answers=STAGING, surface="web", resolution_id=receipt)
    assert kinds(prompt) == ["opened", "answered"]
    assert "r-1" not in str(queries.record(repeated))


def test_an_answer_after_the_moment_is_late_even_before_the_worker_came(ask: Asks, ana: User) -> None:
    prompt = ask(timeoutSeconds=30)
    assert prompt.expires_at is not None
    with pytest.raises(AlreadyResolved) as caught:
        answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web", at=prompt.expires_at)
    assert caught.value.extra["question"]["status"] == "expired"
    fresh = Prompt.objects.get(pk=prompt.pk)
    assert (fresh.status, fresh.answers, fresh.ended_at) == ("expired", None, prompt.expires_at)
    assert kinds(prompt) == ["opened", "expired"]


def test_an_answer_a_moment_before_counts(ask: Asks, ana: User) -> None:
    prompt = ask(timeoutSeconds=30)
    assert prompt.expires_at is not None
    at = prompt.expires_at - dt.timedelta(microseconds=1)
    answered, first = answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web", at=at)
    assert (answered.status, first) == ("answered", True)


def test_expiry_never_chooses(ask: Asks) -> None:
    prompt = ask(timeoutSeconds=30)
    assert expire_due_prompts(at=in_seconds(29)) == 0
    assert expire_due_prompts(at=in_seconds(31)) == 1
    assert expire_due_prompts(at=in_seconds(32)) == 0
    result = outcome(prompt)
    assert isinstance(result, dict)
    assert (result["status"], result["reason"], "answers" in result) == ("no_answer", "expired", False)
    assert "best judgment" in result["message"]
    assert "not ask the same question again" in result["message"]


def test_a_row_past_its_moment_is_shown_as_expired_and_not_written(ask: Asks) -> None:
    prompt = ask(timeoutSeconds=30)
    shown = queries.record(prompt, for_agent=False, at=in_seconds(31))
    assert (shown["status"], shown["result"]["reason"]) == ("expired", "expired")
    assert Prompt.objects.get(pk=prompt.pk).status == "pending"


def test_skip_withdraw_and_their_repeats(ask: Asks, ana: User, agent: Agent) -> None:
    skipped = ask()
    skip_prompt(prompt=skipped, user=ana, surface="web")
    with pytest.raises(AlreadyResolved):
        withdraw_prompt(prompt=skipped, agent=agent, surface="api")
    withdrawn = ask()
    withdraw_prompt(prompt=withdrawn, agent=agent, surface="api")
    withdraw_prompt(prompt=withdrawn, agent=agent, surface="api")
    with pytest.raises(AlreadyResolved):
        skip_prompt(prompt=withdrawn, user=ana, surface="web")
    assert [outcome(skipped)["reason"], outcome(withdrawn)["reason"]] == ["skipped", "withdrawn"]  # type: ignore[index]
    assert (kinds(skipped), kinds(withdrawn)) == (["opened", "skipped"], ["opened", "cancelled"])


@pytest.mark.parametrize(
    ("status", "reason"), [("aborted", "run_aborted"), ("succeeded", "run_ended"), ("failed", "run_ended")]
)
def test_the_end_of_a_run_ends_what_it_asked(
    ask: Asks, agent: Agent, conversation: Conversation, status: str, reason: str
) -> None:
    open_run(agent=agent, session_key="main", client_id="r1")
    open_run(agent=agent, session_key="main", client_id="r2")
    mine, others = ask(runId="r1"), ask(runId="r2")
    finish_run(actor_agent=agent, client_id="r1", status=status)
    assert outcome(mine)["reason"] == reason  # type: ignore[index]
    assert outcome(others) is None


def test_a_run_deadline_ends_the_prompt_and_says_so(ask: Asks, agent: Agent, ana: User) -> None:
    open_run(agent=agent, session_key="main", client_id="short", deadline_seconds=60)
    prompt = ask(runId="short", timeoutSeconds=300)
    shown = queries.record(prompt, at=in_seconds(61))
    assert (shown["status"], shown["result"]["reason"]) == ("cancelled", "run_deadline")
    with pytest.raises(AlreadyResolved):
        answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web", at=in_seconds(61))
    assert outcome(prompt)["reason"] == "run_deadline"  # type: ignore[index]
    assert end_due_runs(at=in_seconds(61)) == 1


def test_a_pending_prompt_never_extends_its_run(ask: Asks, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="short", deadline_seconds=60)
    prompt = ask(runId="short", timeoutSeconds=300)
    assert end_due_runs(at=in_seconds(59)) == 0
    assert end_due_runs(at=in_seconds(61)) == 1
    assert outcome(prompt)["reason"] == "run_deadline"  # type: ignore[index]


def test_a_prompt_that_expired_before_its_run_ended_stays_expired(ask: Asks, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    prompt = ask(runId="r", timeoutSeconds=30)
    finish_run(actor_agent=agent, client_id="r", status="aborted", at=in_seconds(40))
    assert outcome(prompt)["reason"] == "expired"  # type: ignore[index]


def test_a_run_asks_one_thing_at_a_time(ask: Asks, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    first = ask(runId="r", timeoutSeconds=30)
    with pytest.raises(PromptAlreadyPending):
        ask(runId="r", questions=ASK_THREE["questions"])
    second = ask(runId="r", questions=ASK_THREE["questions"], at=in_seconds(31))
    assert outcome(first)["reason"] == "expired"  # type: ignore[index]
    assert second.status == "pending"


def test_runs_that_may_not_ask(ask: Asks, agent: Agent, conversation: Conversation) -> None:
    open_run(agent=agent, session_key="main", client_id="sub", kind="subagent")
    with pytest.raises(NotMainSession):
        ask(runId="sub")
    with pytest.raises(NotMainSession):
        ask()
    open_run(agent=agent, session_key="main", client_id="main-run")
    assert ask().run is None
    finish_run(actor_agent=agent, client_id="main-run", status="succeeded")
    with pytest.raises(RunEnded):
        ask(runId="main-run")
    open_run(agent=agent, session_key="other", client_id="elsewhere")
    with pytest.raises(InvalidInput):
        ask(runId="elsewhere")
    assert Prompt.objects.count() == 1


def test_a_recovery_run_takes_over_what_waits(ask: Asks, agent: Agent, ana: User) -> None:
    open_run(agent=agent, session_key="main", client_id="old")
    prompt = ask(runId="old")
    run, _created = open_run(agent=agent, session_key="main", client_id="new", recovery_of="old")
    assert Prompt.objects.get(pk=prompt.pk).run == run
    assert run.recovery_of is not None
    assert run.recovery_of.status == "aborted"
    answer_prompt(prompt=prompt, user=ana, answers=STAGING, surface="web")
    assert kinds(prompt) == ["opened", "moved", "answered"]


def test_a_reset_leaves_nothing_pending(ask: Asks, agent: Agent, conversation: Conversation) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    prompts = [ask(runId="r"), ask()]
    fresh = reset_conversation(conversation=conversation)
    assert fresh.generation == 2
    assert [outcome(prompt)["reason"] for prompt in prompts] == ["superseded", "superseded"]  # type: ignore[index]


def test_more_time_goes_up_to_the_maximum_and_no_further(ask: Asks, ana: User, agent: Agent) -> None:
    prompt = ask(timeoutSeconds=60, maxTimeoutSeconds=150)
    ends = [extend_prompt(prompt=prompt, user=ana, surface="web").expires_at for _press in range(2)]
    waits = [(end - prompt.created_at).total_seconds() for end in ends if end]
    assert waits == [120, 150]
    with pytest.raises(NoMoreTime):
        extend_prompt(prompt=prompt, user=ana, surface="web")
    with pytest.raises(NoMoreTime):
        extend_prompt(prompt=ask(), user=ana, surface="web")
    open_run(agent=agent, session_key="main", client_id="r", deadline_seconds=90)
    bound = ask(runId="r", timeoutSeconds=60, maxTimeoutSeconds=600)
    assert bound.run is not None
    assert extend_prompt(prompt=bound, user=ana, surface="web").expires_at == bound.run.deadline_at
    with pytest.raises(AlreadyResolved):
        extend_prompt(prompt=prompt, user=ana, surface="web", at=in_seconds(151))
    assert kinds(prompt) == ["opened", "extended", "extended", "expired"]


def test_a_key_or_id_opens_one_prompt(ask: Asks, agent: Agent) -> None:
    body = {"questions": ASK_THREE["questions"], "sessionKey": "main", "id": "client-chosen-0001"}
    parsed, body_digest = schema.parse_ask(body), schema.body_digest(body)
    first, created = open_prompt(agent=agent, ask=parsed, body_digest=body_digest)
    again, created_again = open_prompt(agent=agent, ask=parsed, body_digest=body_digest)
    assert (first.pk, created, created_again) == (again.pk, True, False)
    with pytest.raises(PromptIdInUse):
        open_prompt(agent=agent, ask=parsed, body_digest="0" * 64)
    keyed = ask(key="k1")
    assert ask(key="k1").pk == keyed.pk
    with pytest.raises(KeyReused):
        ask(key="k1", questions=ASK_THREE["questions"])
    assert ask(key="k1", questions=ASK_THREE["questions"], at=in_seconds(24 * 3600 + 1)).pk != keyed.pk


def test_an_identical_ask_of_one_run_within_moments_is_the_first(ask: Asks, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    first = ask(runId="r")
    assert ask(runId="r").pk == first.pk
    with pytest.raises(PromptAlreadyPending):
        ask(runId="r", at=in_seconds(11))


def test_a_full_conversation_refuses_and_evicts_nothing(ask: Asks, settings: object) -> None:
    settings.PENDING_PER_CONVERSATION = 2  # type: ignore[attr-defined]
    kept = [ask(), ask()]
    with pytest.raises(TooManyPending):
        ask()
    assert [Prompt.objects.get(pk=prompt.pk).status for prompt in kept] == ["pending", "pending"]


def test_one_transaction_makes_one_version(ask: Asks, ana: User) -> None:
    prompt = ask(questions=ASK_THREE["questions"])
    stream = Stream.objects.get(pk=prompt.message.stream_id)
    assert (stream.version, stream.prompts, stream.audience) == (1, True, ana)
    skip_prompt(prompt=prompt, user=ana, surface="web")
    stream.refresh_from_db()
    prompt.message.refresh_from_db()
    assert (stream.version, prompt.message.version) == (2, 2)


def test_a_poison_row_is_pushed_ahead_and_does_not_stop_the_loop(ask: Asks) -> None:
    poison, healthy = ask(timeoutSeconds=30), ask(timeoutSeconds=40, sessionKey="other")
    # The place of the next event is taken, so that the sweep of this conversation throws.
    first = PromptEvent.objects.get(prompt_uid=poison.uid)
    PromptEvent.objects.create(
        conversation=first.conversation,
        number=2,
        prompt_uid="-",
        kind="opened",
        at=first.at,
        content_digest="",
        previous=first.digest,
        digest="0" * 64,
    )
    assert expire_due_prompts(at=in_seconds(60)) == 1
    assert outcome(healthy)["reason"] == "expired"  # type: ignore[index]
    held = Prompt.objects.get(pk=poison.pk)
    assert (held.status, held.held_until is not None, "UNIQUE" in held.sweep_error.upper()) == ("pending", True, True)
    assert expire_due_prompts(at=in_seconds(61)) == 0
    PromptEvent.objects.filter(prompt_uid="-").delete()
    assert expire_due_prompts(at=in_seconds(60 + 301)) == 1
