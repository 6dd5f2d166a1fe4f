"""Coming in by a link that works once, and going out."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory
from django.utils import timezone, translation
from pytest_django import Settings

from controlui.chat.models import Conversation, SignInLink, User
from controlui.chat.transitions import create_sign_in_link
from controlui.live import groups
from controlui.pages.views import errors

from .browser import Browser

pytestmark = pytest.mark.django_db


def test_looking_at_a_link_spends_nothing(ana: User) -> None:
    token = create_sign_in_link(user=ana)
    client = Client()
    for _time in range(3):
        assert client.head(f"/sign-in/{token}/").status_code == 200
        assert client.get(f"/sign-in/{token}/").status_code == 200
    assert SignInLink.objects.get().used_at is None


def test_the_button_signs_in_once_and_says_so_afterwards(ana: User, conversation: Conversation) -> None:
    token = create_sign_in_link(user=ana)
    page = Browser().open(f"/sign-in/{token}/")
    buttons = [button for form in page.page.forms for button in form["buttons"]]
    assert len(buttons) == 1
    before = page.client.session.session_key
    page.send("")
    assert page.path() == f"/c/{conversation.uid}/"
    assert page.client.session.session_key != before
    again = Browser().open(f"/sign-in/{token}/")
    assert again.status == 409
    assert "This sign-in link was used already" in again.page.words
    assert again.page.forms == []


def test_of_two_presses_one_wins(ana: User) -> None:
    token = create_sign_in_link(user=ana)
    windows = [Browser().open(f"/sign-in/{token}/") for _window in range(2)]
    for window in windows:
        window.send("")
    assert [window.status for window in windows] == [200, 409]


@pytest.mark.parametrize(("age", "status", "words"), [(25, 409, "has expired"), (23, 200, "once")])
def test_a_link_lives_a_day(ana: User, age: int, status: int, words: str) -> None:
    token = create_sign_in_link(user=ana, at=timezone.now() - dt.timedelta(hours=age))
    page = Browser().open(f"/sign-in/{token}/")
    assert page.status == status
    assert words in page.page.words
    assert page.client.post(f"/sign-in/{token}/").status_code in {403, 409, 303}


def test_an_unknown_link_is_not_known(ana: User) -> None:
    assert Browser().open("/sign-in/in_nothing/").status == 404
    token = create_sign_in_link(user=ana)
    User.objects.update(is_active=False)
    assert Browser().open(f"/sign-in/{token}/").status == 404


def test_a_person_comes_back_to_where_they_were_going(ana: User, conversation: Conversation) -> None:
    page = Browser().open(f"/c/{conversation.uid}/?folded=1")
    assert "Open the sign-in link that you were given" in page.page.words
    page.open(f"/sign-in/{create_sign_in_link(user=ana)}/").send("")
    assert page.address == f"/c/{conversation.uid}/?folded=1"
    assert Browser(ana).open(f"/sign-in/?next=/c/{conversation.uid}/").path() == f"/c/{conversation.uid}/"


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "\t//x.example",
    ],
)
def test_next_never_leads_to_another_site(ana: User, address: str) -> None:
    client = Client()
    client.get("/sign-in/", {"next": address})
    response = client.post(f"/sign-in/{create_sign_in_link(user=ana)}/")
    assert (response.status_code, response["Location"]) == (303, "/")
    assert client.get("/sign-in/", {"next": address})["Location"] == "/"
    assert client.post("/language/", {"language": "en", "next": address})["Location"] == "/"


def test_sign_out_ends_the_session(ana: User, conversation: Conversation) -> None:
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    page.send("/sign-out/")
    assert "You are signed out" in page.page.words
    assert not Session.objects.exists()
    assert page.client.get(f"/c/{conversation.uid}/").status_code == 302


@pytest.mark.parametrize(
    ("going", "kept"),
    [
        ("/c/\u4f60\u597d/?x=\U0001f600", "/c/%E4%BD%A0%E5%A5%BD/?x=%F0%9F%98%80"),
        ('/c/a;b"c, d/\r\nX: y', "/c/a;b%22c,%20d/%0D%0AX:%20y"),
        ("/?" + "\u4f60" * 700, None),
        ("//elsewhere.example/", "/"),
    ],
)
def test_the_way_back_is_kept_whole_or_not_at_all(ana: User, going: str, kept: str | None) -> None:
    page = Browser()
    response = page.client.get("/sign-in/", {"next": going})
    assert response.status_code == 200
    cookie = response.cookies.get("controlui_next")
    assert (cookie and cookie.value) == kept
    str(response.cookies).encode("ascii")
    page.open(f"/sign-in/{create_sign_in_link(user=ana)}/")
    response = page.client.post(page.address, page.filled(""))
    assert response["Location"] == (kept or "/")
    response = page.client.post("/language/", {"next": going, "language": "en"}, headers={"X-CSRFToken": "x"})
    assert response["Location"].isascii()


def test_sign_out_closes_the_persons_sockets(ana: User, conversation: Conversation, settings: Settings) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    layer = get_channel_layer()
    async_to_sync(layer.group_add)(groups.user_group(ana.pk), "specific.test!socket")
    Browser(ana).open(f"/c/{conversation.uid}/").send("/sign-out/")
    assert async_to_sync(layer.receive)("specific.test!socket") == {"type": "revoke"}


def test_methods(ana: User, conversation: Conversation) -> None:
    client = Client()
    client.force_login(ana)
    for path in ("/sign-out/", "/language/", f"/c/{conversation.uid}/draft", f"/c/{conversation.uid}/composer-draft"):
        assert client.get(path).status_code == 405, path
    for path in ("/", f"/c/{conversation.uid}/", f"/c/{conversation.uid}/live", f"/c/{conversation.uid}/older"):
        assert client.post(path).status_code == 405, path


def test_the_language_is_switched_and_kept(ana: User, conversation: Conversation, ask: object) -> None:
    page = Browser(ana).open(f"/c/{conversation.uid}/?folded=1")
    page.send("language", language="zh-hans")
    assert page.address == f"/c/{conversation.uid}/?folded=1"
    assert '<html lang="zh-hans"' in page.html
    assert "发送" in page.html
    page.send("language", language="tlh")
    assert '<html lang="zh-hans"' in page.html


def test_pages_for_what_is_not_there(ana: User) -> None:
    page = Browser(ana).open("/nowhere/")
    assert (page.status, "There is no such page, or it is not for you." in page.page.words) == (404, True)
    assert Browser(ana).open("/c/nothing/").status == 404
    response = Client().get("/api/nowhere")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_the_page_for_a_fault_needs_no_database(rf: RequestFactory) -> None:
    with translation.override("en"):
        page = errors.server_error(rf.get("/"))
        forbidden = errors.forbidden(rf.get("/"))
    assert page.status_code == 500
    assert "Something went wrong" in page.content.decode()
    assert "You may not do this." in forbidden.content.decode()
    assert json.loads(errors.server_error(rf.get("/api/v1/ask")).content)["code"] == "server_error"
    assert errors.forbidden(rf.get("/api/v1/ask")).status_code == 403
