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
from outbox.tests import servers
from outbox.tests.test_webhook import point
from outbox.transports import webhook

Verify = Callable[[str, dict[str, str], bytes], bool]
PAGE = settings.BASE_DIR / "docs" / "webhooks.md"


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


@pytest.mark.django_db
def test_the_page_shows_every_field_that_is_sent(request_: Callable[[], servers.Request]) -> None:
    example = json.loads(re.search(r"\n\n(\{.*?\n\})", PAGE.read_text(), re.DOTALL)[1])  # type: ignore[index]
    assert set(json.loads(request_().body)) <= set(example)


def test_the_page_says_how_long_the_pauses_are() -> None:
    assert [pause.total_seconds() for pause in webhook.PAUSES] == [5, 30, 120, 600, 1800, 3600]
    assert (webhook.CONNECT_SECONDS, webhook.TOTAL_SECONDS) == (5, 10)
