"""The socket: who may open it, what reaches it, and when it closes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.test import Client

from controlui.asgi import application
from controlui.chat.access import Actor, ticket_for, visible_streams
from controlui.chat.models import Agent, Conversation, Stream, User
from controlui.chat.transitions import open_conversation, open_run, say
from controlui.live import groups, publish, tickets
from controlui.live.consumer import REFUSED
from controlui.live.origin import is_same_origin
from outbox.transitions import enqueue
from questions.models import Prompt
from questions.transitions import save_draft, skip_prompt

pytestmark = pytest.mark.django_db(transaction=True)

Asks = Callable[..., Prompt]
in_database = database_sync_to_async


def cookie_of(user: User) -> str:
    """A session cookie of the person."""
    client = Client()
    client.force_login(user)
    return client.cookies[django_settings.SESSION_COOKIE_NAME].value


def ticket_of(user: User, conversation: Conversation, language: str = "en") -> str:
    """The ticket of a page of the person."""
    return ticket_for(user, visible_streams(Actor(user=user), conversation), language)


def socket(
    ticket: str, cookie: str = "", origin: str = "http://testserver", path: str = "/ws/"
) -> WebsocketCommunicator:
    """A browser's socket, not connected yet."""
    headers = [(b"host", b"testserver"), (b"cookie", f"{django_settings.SESSION_COOKIE_NAME}={cookie}".encode())]
    if origin:
        headers.append((b"origin", origin.encode()))
    return WebsocketCommunicator(application, f"{path}?t={ticket}", headers=headers)


@asynccontextmanager
async def page(user: User, conversation: Conversation, language: str = "en") -> AsyncIterator[WebsocketCommunicator]:
    """An open page of a person, by its socket."""
    ticket = await in_database(ticket_of)(user, conversation, language)
    opened = socket(ticket, await in_database(cookie_of)(user))
    connected, _protocol = await opened.connect()
    assert connected
    # Joining comes after the handshake: a frame to the person's own group tells that it is done.
    await in_database(publish.send)([publish.frame(groups.user_group(user.pk), {"type": "ping"})])
    assert json.loads(await opened.receive_from()) == {"type": "ping"}
    yield opened
    await opened.disconnect()


async def told(page: WebsocketCommunicator, kind: str) -> dict[str, Any]:
    """The next frame of this kind; a hint that the list may have changed is passed over."""
    while True:
        frame: dict[str, Any] = json.loads(await page.receive_from())
        if frame["type"] == kind:
            return frame
        assert frame["type"] == "list"


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]


async def test_rows_reach_everybody_once_and_prompts_only_those_who_may_see_them(
    conversation: Conversation, agent: Agent, ana: User, ben: User, vic: User, ask: Asks
) -> None:
    await in_database(ask)()
    async with page(ana, conversation) as anas, page(vic, conversation, "zh-hans") as vics:
        await in_database(say)(agent=agent, session_key="main", text="**hello** <b>")
        frames = [json.loads(await one.receive_from()) for one in (anas, vics)]
        for frame in frames:
            assert (frame["type"], frame["version"]) == ("rows", 1)
            assert "hello" in frame["html"]
            assert "<b>" not in frame["html"]
        prompt = await in_database(ask)()
        frame = await told(anas, "changed")
        assert frame["version"] == 2
        assert "html" not in frame
        await in_database(skip_prompt)(prompt=prompt, user=ben, surface="web")
        assert (await told(anas, "changed"))["version"] == 3
        assert await vics.receive_nothing(timeout=0.2)


async def test_a_page_learns_of_a_stream_that_is_new(
    conversation: Conversation, ana: User, vic: User, ask: Asks
) -> None:
    async with page(ana, conversation) as anas:
        await in_database(ask)()
        await told(anas, "refresh")


async def test_a_page_elsewhere_learns_that_its_list_may_have_changed(
    conversation: Conversation, agent: Agent, ana: User, ben: User, vic: User, ask: Asks
) -> None:
    elsewhere = await in_database(open_conversation)(agent=agent, key="elsewhere")
    for person in (ben, vic):
        await in_database(elsewhere.memberships.create)(user=person, role="participant")
    await in_database(ask)()
    async with page(ana, elsewhere) as anas, page(ben, elsewhere) as bens, page(vic, elsewhere) as vics:
        await in_database(ask)()
        for one in (anas, bens):
            assert json.loads(await one.receive_from()) == {"type": "list"}
        # A guest in somebody else's conversations hears nothing of their prompts.
        assert await vics.receive_nothing(timeout=0.2)


async def test_a_guest_hears_of_prompts_for_them_in_their_own_conversations_only(
    conversation: Conversation, agent: Agent, vic: User, ask: Asks, agent_accepts: Callable[[], int]
) -> None:
    own = await in_database(open_conversation)(agent=agent, key="vics", created_by=vic)
    await in_database(own.memberships.create)(user=vic, role="participant")

    def ask_for_vic(place: Conversation) -> None:
        delivery, _created = enqueue(conversation=place, author=vic, text="please", key=place.key)
        agent_accepts()
        run, _opened = open_run(agent=agent, session_key=place.key, trigger_message_id=delivery.uid)
        ask(sessionKey=place.key, runId=run.client_id)

    async with page(vic, conversation) as vics:
        await in_database(ask_for_vic)(own)
        frames = [json.loads(await vics.receive_from()) for _frame in range(2)]
        await in_database(ask)(sessionKey="vics")
        await in_database(ask_for_vic)(await in_database(open_conversation)(agent=agent, key="hidden"))
        assert frames == [{"type": "list"}, {"type": "refresh"}]
        assert await vics.receive_nothing(timeout=0.2)


async def test_a_draft_tells_the_persons_own_pages_only(
    conversation: Conversation, ana: User, ben: User, ask: Asks
) -> None:
    prompt = await in_database(ask)()
    async with page(ana, conversation) as anas, page(ben, conversation) as bens:
        values = {"deploy_target": {"chosen": [], "text": "private thought"}}
        await in_database(save_draft)(prompt=prompt, user=ana, values=values, tab="t1", tab_seq=1, revision=0)
        frame = await anas.receive_from()
        assert json.loads(frame) == {"type": "draft", "prompt": prompt.uid, "tab": "t1", "revision": 1}
        assert await bens.receive_nothing(timeout=0.2)


async def test_signing_out_closes_the_socket_with_a_code_of_its_own(
    conversation: Conversation, ana: User, ben: User
) -> None:
    async with page(ben, conversation) as bens:
        async with page(ana, conversation) as anas:
            await in_database(publish.close_sockets)(ana.pk)
            assert await anas.receive_output() == {"type": "websocket.close", "code": REFUSED}
        assert await bens.receive_nothing(timeout=0.1)


async def refused(ticket: str, cookie: str) -> bool:
    """Whether the socket is closed with 4401 right after the handshake."""
    opened = socket(ticket, cookie)
    await opened.connect()
    return bool((await opened.receive_output())["code"] == REFUSED)


async def test_a_ticket_is_the_persons_own_whole_and_fresh(
    conversation: Conversation, ana: User, vic: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = await in_database(ticket_of)(ana, conversation)
    anas, vics = await in_database(cookie_of)(ana), await in_database(cookie_of)(vic)
    assert await refused(ticket, vics)
    assert await refused(ticket, "")
    assert await refused(ticket[:-1] + ("A" if ticket[-1] != "A" else "B"), anas)
    assert await refused("", anas)
    monkeypatch.setattr(tickets, "SECONDS", -1)
    assert await refused(ticket, anas)


async def test_a_deactivated_person_gets_no_socket(conversation: Conversation, ana: User) -> None:
    ticket, cookie = await in_database(ticket_of)(ana, conversation), await in_database(cookie_of)(ana)
    await in_database(User.objects.filter(pk=ana.pk).update)(is_active=False)
    assert await refused(ticket, cookie)


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "https://testserver", "http://testserver:81"])
async def test_other_origins_are_denied_before_the_handshake(
    conversation: Conversation, ana: User, origin: str
) -> None:
    ticket, cookie = await in_database(ticket_of)(ana, conversation), await in_database(cookie_of)(ana)
    connected, _code = await socket(ticket, cookie, origin).connect()
    assert not connected


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "allowed"),
    [
        ("http://a.example:8000", "a.example:8000", "ws", True),
        ("http://a.example", "a.example:80", "ws", True),
        ("https://a.example", "a.example", "wss", True),
        ("http://a.example", "a.example", "wss", False),
        ("https://a.example", "a.example", "ws", False),
        ("http://a.example:8001", "a.example:8000", "ws", False),
        ("http://b.example", "a.example", "ws", False),
        ("http://a.example.evil", "a.example", "ws", False),
        ("file://a.example", "a.example", "ws", False),
        ("http://c.example", "c.example", "ws", False),
    ],
)
def test_same_origin_is_scheme_host_and_port(settings: Any, origin: str, host: str, scheme: str, allowed: bool) -> None:
    settings.ALLOWED_HOSTS = ["a.example", "b.example"]
    assert is_same_origin({"origin": origin, "host": host}, scheme) is allowed


def test_the_public_address_is_an_origin_of_ours(settings: Any) -> None:
    settings.PUBLIC_URL = "https://ui.example"
    settings.ALLOWED_HOSTS = ["ui.example"]
    assert is_same_origin({"origin": "https://ui.example", "host": "ui.example"}, "ws")
    assert not is_same_origin({"origin": "https://ui.example.evil", "host": "ui.example"}, "ws")


async def test_what_the_browser_sends_is_ignored(conversation: Conversation, ana: User, agent: Agent) -> None:
    async with page(ana, conversation) as anas:
        await anas.send_to(text_data='{"type": "frame", "payload": {}}')
        await anas.send_to(bytes_data=b"\x00\xff")
        await in_database(say)(agent=agent, session_key="main", text="still here")
        assert json.loads(await anas.receive_from())["type"] == "rows"
        assert await in_database(Stream.objects.count)() == 1


@pytest.mark.parametrize("path", ["/", "/ws", "/ws/x", "/ws//", "/elsewhere/%00"])
async def test_a_socket_elsewhere_is_refused(ana: User, conversation: Conversation, path: str) -> None:
    ticket = await in_database(ticket_of)(ana, conversation)
    connected, _code = await socket(ticket, await in_database(cookie_of)(ana), path=path).connect()
    assert not connected
