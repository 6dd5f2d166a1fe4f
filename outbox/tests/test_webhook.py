"""Webhooks, against real servers on loopback that behave well and badly."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django.utils.translation import override

from controlui.chat.models import Agent, Conversation, Message, User
from controlui.chat.transitions import create_agent, open_conversation
from controlui.errors import InvalidInput
from outbox import transitions as outbox
from outbox import words, worker
from outbox.models import Attempt, Delivery
from outbox.tests import servers
from outbox.transports import line, webhook
from outbox.transports.content import content
from outbox.transports.inbox import take

pytestmark = pytest.mark.django_db

Status = Delivery.Status
Serve = Callable[..., servers.Hook]


@pytest.fixture(autouse=True)
def private(settings: Any) -> None:
    settings.WEBHOOK_PRIVATE = True


@pytest.fixture
def serve(agent: Agent) -> Iterator[Serve]:
    """Starts a server that behaves so, and makes it the agent's webhook."""
    made: list[servers.Hook] = []

    def start(behave: Any, whose: Agent = agent, **more: Any) -> servers.Hook:
        hook = servers.Hook(behave, **more).start()
        made.append(hook)
        point(whose, hook.url)
        return hook

    yield start
    for hook in made:
        hook.stop()


def point(agent: Agent, url: str) -> None:
    """The agent's webhook is there."""
    agent.webhook_url, agent.webhook_secret = url, "whsec_" + base64.b64encode(b"s" * 24).decode()
    agent.save(update_fields=["webhook_url", "webhook_secret"])


@pytest.fixture
def sent(conversation: Conversation, ben: User) -> Delivery:
    """A message of ben's."""
    return outbox.enqueue(conversation=conversation, author=ben, text="héllo", key="k")[0]


def attempt(delivery: Delivery, at: dt.datetime | None = None) -> Delivery:
    """One attempt, as a worker makes it."""
    conversation = Conversation.objects.select_related("agent").get(pk=delivery.conversation_id)
    claimed = outbox.claim_due(conversation, transport="webhook", at=at)
    assert claimed is not None
    worker.attempt(claimed)
    return Delivery.objects.select_related("message").get(pk=delivery.pk)


def verified(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """What docs/webhooks.md tells a receiver to do."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(f"v1,{expected}", each) for each in headers["webhook-signature"].split())


def test_accepted_and_signed(serve: Serve, agent: Agent, sent: Delivery) -> None:
    hook = serve(servers.says("200 OK", b'{"error": "ignored"}'))
    found = attempt(sent)
    assert found.status == Status.CONFIRMED
    assert Message.objects.get(kind="person").uid == sent.uid
    (request,) = hook.requests
    assert verified(agent.webhook_secret, request.headers, request.body)
    assert not verified(agent.webhook_secret, request.headers, request.body + b" ")
    assert request.headers["webhook-id"] == sent.uid
    body = json.loads(request.body)
    assert (body["id"], body["text"], body["sessionKey"], body["kind"]) == (sent.uid, "héllo", "main", "message")
    assert take(agent) == [], "an agent with a webhook has no inbox"


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (servers.says("204 No Content"), Status.CONFIRMED, ""),
        (servers.says("400 Bad Request"), Status.FAILED, "http_400"),
        (servers.says("410 Gone"), Status.FAILED, "http_410"),
        (servers.says("302 Found", b"", "Location: http://127.0.0.1:1/"), Status.FAILED, "redirected"),
        (servers.says("307 Temporary Redirect", b"", "Location: file:///etc/passwd"), Status.FAILED, "redirected"),
        (servers.says("429 Too Many Requests"), Status.QUEUED, "http_429"),
        (servers.says("503 Service Unavailable"), Status.QUEUED, "http_503"),
        (servers.breaks, Status.UNCONFIRMED, "no_answer"),
        (lambda line: line.sendall(b"nonsense\r\n\r\n"), Status.UNCONFIRMED, "no_answer"),
        (lambda line: None, Status.UNCONFIRMED, "no_answer"),
    ],
)
def test_what_an_answer_means(serve: Serve, sent: Delivery, answer: Any, status: str, code: str) -> None:
    hook = serve(answer)
    found = attempt(sent)
    assert (found.status, found.error_code, len(hook.requests)) == (status, code, 1)
    assert Message.objects.count() == (1 if status == Status.CONFIRMED else 0)
    with override("en"):
        assert status == Status.CONFIRMED or words.sentence(found.error_code).startswith("The agent's webhook ")


def test_down_then_up_again_with_the_same_id(serve: Serve, agent: Agent, sent: Delivery) -> None:
    hook = serve(servers.in_turn(servers.says("500 Oops"), servers.says("200 OK")))
    waiting = attempt(sent)
    assert waiting.due_at > timezone.now()
    found = attempt(sent, at=waiting.due_at)
    assert found.status == Status.CONFIRMED
    assert {request.headers["webhook-id"] for request in hook.requests} == {sent.uid}
    assert list(Attempt.objects.order_by("number").values_list("outcome", "http_status")) == [
        ("failed", 500), ("accepted", 200),
    ]  # fmt: skip


def test_the_pauses_grow_and_then_it_has_failed(agent: Agent, sent: Delivery) -> None:
    point(agent, servers.nothing_listens())
    at, pauses = timezone.now(), []
    for _try in webhook.PAUSES:
        found = attempt(sent, at=at)
        assert (found.status, found.error_code) == (Status.QUEUED, "unreachable")
        pauses.append(found.due_at)
        at = found.due_at
    found = attempt(sent, at=at)
    assert (found.status, found.error_code) == (Status.FAILED, "unreachable")
    assert pauses == sorted(pauses)
    outbox.retry(delivery=found)
    assert attempt(sent).status == Status.QUEUED, "a person's Retry begins anew"


def test_retry_after_is_heeded_within_bounds(serve: Serve, sent: Delivery) -> None:
    serve(servers.says("503 Busy", b"", "Retry-After: 999999999"))
    before = timezone.now()
    found = attempt(sent)
    assert dt.timedelta(minutes=59) < found.due_at - before <= dt.timedelta(minutes=61)


@pytest.mark.parametrize("kind", ["hangs", "drips"])
def test_one_that_takes_its_time_is_cut_off(
    serve: Serve, sent: Delivery, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(webhook, "TOTAL_SECONDS", 0.3)
    over = threading.Event()
    serve(getattr(servers, kind)(over))
    found = attempt(sent)
    over.set()
    assert (found.status, found.error_code) == (Status.UNCONFIRMED, "no_answer")


def test_a_gigabyte_is_not_read(serve: Serve, sent: Delivery) -> None:
    taken: list[int] = []
    serve(servers.endless(taken))
    assert attempt(sent).status == Status.CONFIRMED
    assert len(taken) < 400, "only what the buffers of the line hold"


def test_a_certificate_that_nobody_vouches_for(serve: Serve, sent: Delivery, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("selfsigned.pem"))
    hook = serve(servers.says("200 OK"), tls=context)
    found = attempt(sent)
    assert (found.status, found.error_code, hook.requests) == (Status.FAILED, "tls", [])


def test_a_private_address_is_not_called(serve: Serve, sent: Delivery, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE = False
    hook = serve(servers.says("200 OK"))
    found = attempt(sent)
    assert (found.status, found.error_code, hook.requests) == (Status.FAILED, "address_not_allowed", [])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_addresses_that_are_nobodys_on_the_internet(address: str) -> None:
    assert not line.is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::5db8:d70e"])
def test_addresses_of_the_internet(address: str) -> None:
    assert line.is_public(address)


def test_the_address_that_was_checked_is_the_one_that_is_called(
    settings: Any, sent: Delivery, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name whose second look-up leads to loopback: there is no second look-up."""
    settings.WEBHOOK_PRIVATE = False
    point(agent, "http://rebound.example/hook")
    looked: list[str] = []

    def resolve(host: str, port: int, *_more: Any, **_named: Any) -> Any:
        looked.append(host)
        address = "127.0.0.1" if len(looked) > 1 else "203.0.113.7"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr("outbox.transports.line.socket.getaddrinfo", resolve)
    monkeypatch.setattr("outbox.transports.line.is_public", lambda address: address == "203.0.113.7")
    monkeypatch.setattr(webhook, "CONNECT_SECONDS", 0.2)
    found = attempt(sent)
    assert (found.status, found.error_code) == (Status.QUEUED, "unreachable")
    assert looked[0] == "rebound.example"
    assert all(host in {"rebound.example", "203.0.113.7"} for host in looked)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ftp://x.example/", "scheme"), ("http://", "address"), ("http://x.example:99999/", "address"),
        ("http://user:secret@x.example/", "credentials"), ("http://x.example/a b", "address"),
        ("http://x.example/\r\nX: y", "address"), ("http://é.example/", "address"),
        ("http://x..example/", "address"), (f"http://{'a' * 64}.example/", "address"),
        (f"http://x.example/{'a' * 2000}", "address"),
    ],
)  # fmt: skip
def test_addresses_that_are_none_are_refused_when_they_are_set(db: None, url: str, rule: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        create_agent(name="hooked", webhook_url=url)
    assert refused.value.details[0]["rule"] == rule
    assert not Agent.objects.exists()


def test_a_resolver_that_is_slow_holds_a_call_no_longer_than_it_may_take(
    agent: Agent, sent: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "CONNECT_SECONDS", 0.1)
    over = threading.Event()

    def resolve(*_asked: Any, **_named: Any) -> Any:
        over.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    point(agent, "http://slow.example/hook")
    found = attempt(sent)
    over.set()
    assert (found.status, found.error_code) == (Status.QUEUED, "unreachable"), "nothing of it left"


def test_a_new_webhook_has_a_secret(db: None) -> None:
    made = create_agent(name="hooked", webhook_url="https://x.example/hook")
    assert made.webhook_secret.startswith("whsec_")
    assert len(base64.b64decode(made.webhook_secret.removeprefix("whsec_"))) == 24


def test_a_poison_message_stops_nobody(
    serve: Serve, agent: Agent, sent: Delivery, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_conversation(agent=agent, key="other")
    second = outbox.enqueue(conversation=other, author=ben, text="fine", key="k")[0]
    serve(servers.says("200 OK"))

    def poisoned(delivery: Delivery) -> dict[str, Any]:
        if delivery.pk == sent.pk:
            raise ValueError("poison")
        return content(delivery)

    monkeypatch.setattr("outbox.transports.webhook.content", poisoned)
    found = attempt(sent)
    assert (found.status, found.error_code) == (Status.UNCONFIRMED, "internal")
    assert attempt(second).status == Status.CONFIRMED


@pytest.mark.django_db(transaction=True)
def test_an_agent_whose_webhook_hangs_does_not_take_all_threads(
    serve: Serve, agent: Agent, ana: User, ben: User, settings: Any
) -> None:
    settings.WEBHOOK_SENDERS = worker.PER_AGENT + 1
    over = threading.Event()
    hanging = serve(servers.hangs(over))
    other = create_agent(name="other", owner=ana)
    for place in [open_conversation(agent=agent, key=f"s{number}") for number in range(worker.PER_AGENT + 2)]:
        outbox.enqueue(conversation=place, author=ben, text="hello", key="k")
    good = serve(servers.says("200 OK"), whose=other)
    last = outbox.enqueue(conversation=open_conversation(agent=other, key="o"), author=ben, text="hello", key="k")[0]
    free = threading.Event()
    sender = worker.Sender(free.set)
    try:
        assert sender.send_due() + sender.send_due() == worker.PER_AGENT + 1, "so many of one agent, however many wait"
        assert free.wait(30), "the thread that became free says so"
        last.refresh_from_db()
        assert (last.status, len(good.requests)) == (Status.CONFIRMED, 1)
        assert len(hanging.requests) <= worker.PER_AGENT
    finally:
        over.set()
        sender.finish()
