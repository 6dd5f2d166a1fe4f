"""Forms of another session: nothing typed is lost, and nothing lands with another person (bugs case 72)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from controlui.chat.models import Conversation, User
from questions.models import Draft, Prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
WORDS = "Five hundred <characters> of\n\nthought. " * 12


@pytest.fixture
def page(ana: User, conversation: Conversation, ask: Ask) -> Browser:
    """Ana's window, with a question in it."""
    ask()
    return Browser(ana).open(f"/c/{conversation.uid}/")


def stale(page: Browser, conversation: Conversation, path: str = "dock", **headers: str) -> Browser:
    """Sends what a window holds whose token is no longer good."""
    form = page.filled("dock-form", text_deploy_target=WORDS) | {
        "action": ["submit"],
        "csrfmiddlewaretoken": ["x" * 64],
    }
    page.response = page.client.post(f"/c/{conversation.uid}/{path}", form, headers=headers)
    return page


def test_the_same_person_sends_again_with_one_button(page: Browser, conversation: Conversation) -> None:
    stale(page, conversation)
    assert page.status == 403
    assert "Your session changed" in page.page.words
    assert WORDS.strip() in page.page.words
    assert not Draft.objects.exists()
    page.send(f"/c/{conversation.uid}/dock")
    assert Prompt.objects.get().answers == {"deploy_target": [WORDS.strip()]}
    assert page.path() == f"/c/{conversation.uid}/"


def test_also_when_the_cookie_was_deleted(page: Browser, conversation: Conversation) -> None:
    del page.client.cookies["controlui_csrf"]
    stale(page, conversation)
    assert "controlui_csrf" in page.client.cookies
    page.send(f"/c/{conversation.uid}/dock")
    assert Prompt.objects.get().status == "answered"


def test_signed_out_reads_the_text_and_finds_the_way_back(page: Browser, conversation: Conversation) -> None:
    form = page.filled("dock-form", text_deploy_target=WORDS) | {"action": ["submit"]}
    page.client.logout()
    page.response = page.client.post(f"/c/{conversation.uid}/dock", form)
    assert page.status == 401
    assert WORDS.strip() in page.page.words
    links = [given["href"] for tag, given in page.page.tags if tag == "a"]
    assert f"/sign-in/?next=%2Fc%2F{conversation.uid}%2F" in links
    assert not [form for form in page.page.forms if form["action"].startswith("/c/")]
    assert not Draft.objects.exists()
    assert Prompt.objects.get().status == "pending"


def test_another_person_reads_it_and_cannot_send_it(page: Browser, conversation: Conversation, ben: User) -> None:
    form = page.filled("dock-form", text_deploy_target=WORDS) | {"action": ["submit"]}
    page.client.force_login(ben)
    for token in ("stale", "good"):
        if token == "good":
            page.client.get(f"/c/{conversation.uid}/")
            form["csrfmiddlewaretoken"] = [page.client.cookies["controlui_csrf"].value]
        page.response = page.client.post(f"/c/{conversation.uid}/dock", form)
        assert page.status == 403
        assert "Another person has signed in on this browser" in page.page.words
        assert WORDS.strip() in page.page.words
        assert not [form for form in page.page.forms if form["action"].startswith("/c/")]
    assert not Draft.objects.exists()


@pytest.mark.parametrize("headers", [{"HX-Request": "true"}, {"Accept": "application/json"}])
def test_scripts_read_a_code_and_swap_nothing(page: Browser, conversation: Conversation, headers: Any) -> None:
    response = stale(page, conversation, **headers).response
    assert (response.status_code, response.json()["code"]) == (403, "session_renewed")
    assert response["HX-Reswap"] == "none"
    page.client.logout()
    response = page.client.post(f"/c/{conversation.uid}/draft", {}, headers=headers)
    assert response.status_code == 401
    assert response.json()["code"] == "signed_out"


def test_a_message_is_kept_in_the_same_way(page: Browser, conversation: Conversation) -> None:
    form = page.filled("composer", text="to the agent") | {"csrfmiddlewaretoken": ["x" * 64]}
    page.response = page.client.post(f"/c/{conversation.uid}/messages", form)
    assert page.status == 403
    page.send(f"/c/{conversation.uid}/messages")
    assert conversation.deliveries.get().text == "to the agent"


def test_a_busy_database_keeps_the_text_and_offers_to_send_again(
    page: Browser, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = page.filled("dock-form", text_deploy_target=WORDS) | {"action": ["submit"]}

    def locked(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        # The fault is the database's; everything of ours runs.
        patch.setattr("django.db.models.query.QuerySet.get_or_create", locked)
        page.response = page.client.post(f"/c/{conversation.uid}/dock", form)
    assert (page.status, page.response["Retry-After"]) == (503, "2")
    assert WORDS.strip() in page.page.words
    page.send(f"/c/{conversation.uid}/dock")
    assert Prompt.objects.get().status == "answered"


def test_a_sign_in_or_sign_out_with_an_old_token_is_not_a_dead_end(ana: User) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/sign-in/in_something/", {})
    assert (response.status_code, response["Location"]) == (303, "/sign-in/in_something/")
    response = client.post("/language/", {"next": "/sign-in/"})
    assert (response.status_code, response["Location"]) == (303, "/sign-in/")
    page = Browser(ana)
    page.response = page.client.post("/sign-out/", {})
    assert page.status == 403
    page.send("/sign-out/")
    assert page.address.startswith("/sign-in/")
