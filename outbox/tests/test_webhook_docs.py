"""The verification example of docs/webhooks.md, run as it stands there against what we really send."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from controlui.chat.models import Agent, Conversation, User
from outbox import transitions as outbox
from outbox import worker
from outbox.models import Delivery
from outbox.tests import servers
from outbox.tests.test_webhook import point
from outbox.transports import webhook
from outbox.transports.content import content
from questions.models import Prompt
from questions.transitions import answer_prompt

Verify = Callable[[str, dict[str, str], bytes], bool]
PAGE = settings.BASE_DIR / "docs" / "webhooks.md"
[EXAMPLE] = re.findall(r"\n\n(\{.*?\n\})", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def verify() -> Verify:
    """The function of the page."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), space)  # our own page
    found: Verify = space["verify"]
    return found


@pytest.fixture
def request_(
    conversation: Conversation, agent: Agent, ben: User, settings: Any
) -> Iterator[Callable[[], servers.Request]]:
    """What arrives at the agent's webhook."""
    settings.WEBHOOK_PRIVATE = True
    hook = servers.Hook(servers.says("204 No Content")).start()
    point(agent, hook.url)

    def send() -> servers.Request:
        outbox.enqueue(conversation=conversation, author=ben, text="héllo", key="k")
        place = Conversation.objects.select_related("agent").get(pk=conversation.pk)
        claimed = outbox.claim_due(place, transport="webhook")
        assert claimed is not None
        worker.attempt(claimed)
        [arrived] = hook.requests
        return arrived

    yield send
    hook.stop()


@pytest.mark.django_db
def test_what_we_send_is_verified_by_the_example(
    verify: Verify, request_: Callable[[], servers.Request], agent: Agent
) -> None:
    arrived = request_()
    secret, headers = agent.webhook_secret, arrived.headers
    assert verify(secret, headers, arrived.body)
    assert not verify(secret, headers, arrived.body.replace(b"main", b"mine"))
    assert not verify("whsec_" + base64.b64encode(b"t" * 24).decode(), headers, arrived.body)
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        assert not verify(secret, {**headers, name: "1"}, arrived.body)
        assert not verify(secret, {key: value for key, value in headers.items() if key != name}, arrived.body)


@pytest.mark.parametrize(("age", "fresh"), [(0, True), (290, True), (310, False), (-310, False)])
def test_an_old_message_is_refused(verify: Verify, age: int, fresh: bool) -> None:
    secret, body, at = "whsec_" + base64.b64encode(b"s" * 24).decode(), b"{}", int(time.time()) - age
    headers = {
        "webhook-id": "m",
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,other {webhook.sign(secret, 'm', at, body)}",
    }
    assert verify(secret, headers, body) is fresh


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-signature", "v1,é"), ("webhook-signature", ""), ("webhook-timestamp", "9" * 400),
        ("webhook-timestamp", "9" * 5000), ("webhook-timestamp", "nan"), ("webhook-id", "\udcff"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_and_breaks_nothing(verify: Verify, name: str, value: str) -> None:
    headers = {"webhook-id": "m", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    assert verify("whsec_" + base64.b64encode(b"s" * 24).decode(), {**headers, name: value}, b"{}") is False


@pytest.mark.django_db
def test_the_page_shows_what_is_sent(ask: Callable[..., Prompt], conversation: Conversation, ben: User) -> None:
    """The example has the fields of a real answer, in their order, each of the same form."""
    prompt = ask(mode="async")
    answer_prompt(prompt=prompt, user=ben, answers={"deploy_target": ["Production"]}, surface="web")
    sent, example = content(Delivery.objects.get(conversation=conversation)), json.loads(EXAMPLE)
    assert [(name, type(value)) for name, value in sent.items()] == [
        (name, type(value)) for name, value in example.items()
    ]
    [(_question, values)] = example["answers"].items()
    assert re.sub(r"\d", "0", example["createdAt"]) == re.sub(r"\d", "0", sent["createdAt"])
    assert (example["kind"], example["text"].partition("\n\n")[2]) == (sent["kind"], ", ".join(values))
    assert [len(example[name]) for name in ("id", "messageId", "replyTo")] == [22, 22, 22]


def test_the_signature_on_the_page_is_the_one_of_its_example() -> None:
    shown = dict(re.findall(r"^(webhook-\w+): (.*)$", PAGE.read_text(), re.MULTILINE))
    [secret] = re.findall(r"`(whsec_[\w+/=]+)`", PAGE.read_text())
    body = json.loads(EXAMPLE)
    assert shown["webhook-id"] == body["id"] == body["messageId"]
    signed = webhook.sign(secret, shown["webhook-id"], int(shown["webhook-timestamp"]), json.dumps(body).encode())
    assert shown["webhook-signature"] == signed


def test_the_page_says_the_pauses_and_limits() -> None:
    assert [pause.total_seconds() for pause in webhook.PAUSES] == [5, 30, 120, 600, 1800, 3600]
    assert (webhook.CONNECT_SECONDS, webhook.TOTAL_SECONDS) == (5, 10)
    assert (len(webhook.PAUSES) + 1, worker.PER_AGENT) == (7, 4)
