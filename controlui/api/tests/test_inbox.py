"""An agent's inbox, through the server's own callable and the API."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from controlui.api import wait
from controlui.api.inbox import THREADS, on_inbox_thread
from controlui.api.tests.conformance import component
from controlui.api.tests.test_wait import Call, in_database
from controlui.chat.models import Agent, Conversation, Message, Token, User
from controlui.chat.transitions import create_agent, create_token, open_conversation
from outbox.models import Delivery
from outbox.transitions import enqueue, recover_stuck
from questions.models import Prompt
from questions.transitions import answer_prompt

pytestmark = pytest.mark.django_db(transaction=True)

Asks = Callable[..., Prompt]


def sent(conversation: Conversation, author: User, text: str = "hello") -> Delivery:
    return enqueue(conversation=conversation, author=author, text=text, key=f"key-{Delivery.objects.count()}")[0]


async def call(path: str, token: str, method: str = "GET", body: Any = None) -> tuple[int, dict[str, Any]]:
    status, found, _headers = await (await Call(f"/api/v1/inbox{path}", token, method, body).start()).answer()
    return status, found


async def open_call(token: str, query: str = "?wait=60") -> Call:
    """A call that waits, and is known to be held."""
    before = len(wait.held)
    opened = await Call(f"/api/v1/inbox{query}", token).start()
    async with asyncio.timeout(60):
        while len(wait.held) == before:  # noqa: ASYNC110  (no event tells that a call is held)
            await asyncio.sleep(0)
    # Its look after joining is over when all threads of the inbox meet.
    meet = threading.Barrier(THREADS)
    await asyncio.gather(*[on_inbox_thread(meet.wait)(60) for _thread in range(THREADS)])
    return opened


async def test_what_waits_comes_at_once_and_is_accepted(
    conversation: Conversation, agent: Agent, agent_token: str, ben: User
) -> None:
    delivery = await in_database(sent)(conversation, ben)
    status, found = await call("?wait=60", agent_token)
    component("Inbox").validate(found)
    (item,) = found["deliveries"]
    assert (status, item["id"], item["text"], item["author"]) == (200, delivery.uid, "hello", "ben")
    assert (await call("", agent_token))[1]["deliveries"] == []
    ack = {"lease": item["lease"], "accepted": True}
    for _repeat in range(2):
        status, state = await call(f"/{item['id']}/ack", agent_token, "POST", ack)
        assert (status, state["status"], state["messageId"]) == (200, "confirmed", item["messageId"])
    message = await in_database(Message.objects.get)(kind="person")
    assert message.uid == item["messageId"]


async def test_an_open_call_is_told_of_a_new_message(conversation: Conversation, agent_token: str, ben: User) -> None:
    opened = await open_call(agent_token)
    await in_database(sent)(conversation, ben)
    _status, found, _headers = await opened.answer()
    assert [item["text"] for item in found["deliveries"]] == ["hello"]


async def test_an_open_call_is_told_when_the_line_moves_on(
    conversation: Conversation, agent_token: str, ben: User
) -> None:
    for text in ("one", "two"):
        await in_database(sent)(conversation, ben, text)
    (first,) = (await call("", agent_token))[1]["deliveries"]
    opened = await open_call(agent_token)
    await call(f"/{first['id']}/ack", agent_token, "POST", {"lease": first["lease"], "accepted": False})
    _status, found, _headers = await opened.answer()
    assert [item["text"] for item in found["deliveries"]] == ["two"]


async def test_an_empty_inbox_ends_with_the_wait(conversation: Conversation, agent_token: str) -> None:
    for query in ("", "?wait=0", "?wait=0.05"):
        assert await call(query, agent_token) == (200, {"deliveries": [], "next": None})


async def test_at_most_one_of_each_conversation_and_at_most_max(
    conversation: Conversation, agent: Agent, agent_token: str, ben: User
) -> None:
    for number in range(3):
        place = await in_database(open_conversation)(agent=agent, key=f"s{number}")
        for text in ("first", "second"):
            await in_database(sent)(place, ben, f"{text} {number}")
    _status, found = await call("?max=2", agent_token)
    assert [item["text"] for item in found["deliveries"]] == ["first 0", "first 1"]
    _status, found = await call("?sessionKey=s2", agent_token)
    assert [item["text"] for item in found["deliveries"]] == ["first 2"]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("?wait=x", "wait"), ("?wait=-1", "wait"), ("?max=0", "max"), ("?max=21", "max"), ("?max=x", "max"),
        ("?sessionKey=%20", "sessionKey"), ("?sessionKey=a%00b", "sessionKey"),
        (f"?sessionKey={'k' * 201}", "sessionKey"),
    ],
)  # fmt: skip
async def test_a_query_that_breaks_a_rule_is_told_so(agent_token: str, query: str, path: str) -> None:
    status, found = await call(query, agent_token)
    assert (status, found["code"], found["details"][0]["path"]) == (422, "invalid_input", path)


async def test_agents_only_and_each_its_own(
    conversation: Conversation, agent: Agent, agent_token: str, ana: User, ben: User
) -> None:
    await in_database(sent)(conversation, ben)
    person = await in_database(create_token)(user=ana)
    other = await in_database(create_token)(agent=await in_database(create_agent)(name="other", owner=ana))
    assert (await call("", person))[1]["code"] == "agents_only"
    assert (await call("", ""))[0] == 401
    assert (await call("", other))[1]["deliveries"] == []
    (item,) = (await call("", agent_token))[1]["deliveries"]
    ack = {"lease": item["lease"], "accepted": True}
    assert (await call(f"/{item['id']}/ack", other, "POST", ack))[0] == 404
    assert (await call(f"/{item['id']}/ack", person, "POST", ack))[0] == 403
    assert (await call("/no-such-delivery/ack", other, "POST", ack))[0] == 404


async def test_a_token_that_is_revoked_meanwhile_gets_nothing(
    conversation: Conversation, agent: Agent, agent_token: str, ben: User
) -> None:
    opened = await open_call(agent_token)
    await in_database(Token.objects.filter(agent=agent).update)(revoked_at=timezone.now())
    delivery = await in_database(sent)(conversation, ben)
    assert (await opened.answer())[0] == 401
    assert (await in_database(Delivery.objects.get)(pk=delivery.pk)).status == "queued"


async def test_a_caller_who_hangs_up_leases_nothing(conversation: Conversation, agent_token: str, ben: User) -> None:
    opened = await open_call(agent_token)
    await opened.hang_up()
    delivery = await in_database(sent)(conversation, ben)
    assert (await in_database(Delivery.objects.get)(pk=delivery.pk)).status == "queued"
    assert not wait.held


async def test_two_open_calls_share_and_never_double(conversation: Conversation, agent_token: str, ben: User) -> None:
    calls = [await open_call(agent_token, "?wait=1") for _call in range(5)]
    await in_database(sent)(conversation, ben)
    answers = await asyncio.gather(*(each.answer(30) for each in calls))
    assert sum(len(found["deliveries"]) for _status, found, _headers in answers) == 1


async def test_a_stopping_server_lets_open_calls_go(agent: Agent, agent_token: str) -> None:
    opened = await open_call(agent_token)
    wait.end_waits()
    assert (await opened.answer())[1] == {"deliveries": [], "next": None}


async def test_a_lease_is_renewed_lost_and_refused(conversation: Conversation, agent_token: str, ben: User) -> None:
    delivery = await in_database(sent)(conversation, ben)
    (item,) = (await call("", agent_token))[1]["deliveries"]
    status, lease = await call(f"/{item['id']}/lease", agent_token, "POST", {"lease": item["lease"]})
    component("Lease").validate(lease)
    assert (status, lease["leaseExpiresAt"] >= item["leaseExpiresAt"]) == (200, True)
    await in_database(recover_stuck)(at=timezone.now() + dt.timedelta(seconds=90))
    refused = {"lease": item["lease"], "accepted": False, "error": "Busy."}
    for path, body in (("lease", {"lease": item["lease"]}), ("ack", refused)):
        status, found = await call(f"/{item['id']}/{path}", agent_token, "POST", body)
        assert (status, found["code"], found["status"]) == (409, "lease_lost", "unconfirmed")
    assert (await in_database(Delivery.objects.get)(pk=delivery.pk)).status == "unconfirmed"
    status, _found = await call(f"/{item['id']}/ack", agent_token, "POST", {"lease": item["lease"], "accepted": True})
    assert status == 200


async def test_a_refusal_says_why(conversation: Conversation, agent_token: str, ben: User) -> None:
    delivery = await in_database(sent)(conversation, ben)
    (item,) = (await call("", agent_token))[1]["deliveries"]
    body = {"lease": item["lease"], "accepted": False, "error": "I am full."}
    for _repeat in range(2):
        status, state = await call(f"/{item['id']}/ack", agent_token, "POST", body)
        component("DeliveryState").validate(state)
        assert (status, state["status"], state["messageId"]) == (200, "failed", None)
    found = await in_database(Delivery.objects.get)(pk=delivery.pk)
    assert (found.error_code, found.error) == ("refused", "I am full.")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "accepted"), ({"lease": "x"}, "accepted"), ({"lease": "x", "accepted": 1}, "accepted"),
        ({"accepted": True}, "lease"), ({"lease": 5, "accepted": True}, "lease"),
        ({"lease": "x", "accepted": False, "error": 5}, "error"),
        ({"lease": "x", "accepted": False, "error": "x" * 501}, "error"),
        ({"lease": "x", "accepted": True, "error": "but"}, "error"), ({"lease": "x", "accepted": True, "y": 1}, "y"),
    ],
)  # fmt: skip
async def test_an_acknowledgement_that_breaks_a_rule_changes_nothing(
    conversation: Conversation, agent_token: str, ben: User, body: dict[str, Any], path: str
) -> None:
    delivery = await in_database(sent)(conversation, ben)
    await call("", agent_token)
    status, found = await call(f"/{delivery.uid}/ack", agent_token, "POST", body)
    assert (status, found["code"]) == (422, "invalid_input")
    assert path in [fault["path"] for fault in found["details"]]
    assert (await in_database(Delivery.objects.get)(pk=delivery.pk)).status == "sending"


async def test_an_async_answer_reaches_the_agent_and_its_waiter(ask: Asks, agent_token: str, ben: User) -> None:
    prompt = await in_database(ask)(mode="async")
    waiter = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds=60", agent_token).start()
    opened = await open_call(agent_token)
    answers = {"deploy_target": ["Production"]}
    await in_database(answer_prompt)(prompt=prompt, user=ben, answers=answers, surface="web")
    (item,) = (await opened.answer())[1]["deliveries"]
    assert (item["kind"], item["promptId"], item["answers"]) == ("answer", prompt.uid, answers)
    await call(f"/{item['id']}/ack", agent_token, "POST", {"lease": item["lease"], "accepted": True})
    _status, record, _headers = await waiter.answer()
    component("Prompt").validate(record)
    assert (record["status"], record["delivery"]["status"]) == ("answered", "confirmed")


async def test_a_hundred_open_calls_hold_no_thread(agent: Agent, agent_token: str) -> None:
    await (await open_call(agent_token, "?wait=0.1")).answer()
    before = threading.active_count()
    calls = [await Call("/api/v1/inbox?wait=100", agent_token).start() for _call in range(100)]
    async with asyncio.timeout(60):
        while len(wait.held) < 100:  # noqa: ASYNC110  (yields to the calls; no event tells that all are held)
            await asyncio.sleep(0)
    assert threading.active_count() <= before + 2
    wait.end_waits()
    assert {status for status, _found, _headers in await asyncio.gather(*(each.answer(60) for each in calls))} == {200}
