"""What cannot be taken is said in the form that the caller reads, and what was typed comes back with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest
from django.db import OperationalError
from django.test import Client

from controlui.chat.models import Conversation, User
from controlui.chat.transitions import create_sign_in_link
from questions.models import Prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
FORM = "application/x-www-form-urlencoded"
POSTS = ("dock", "draft", "messages", "composer-draft")
WORDS = "Words <typed>, \u4e2d\u6587, at length."


@pytest.fixture
def page(ana: User, conversation: Conversation, ask: Ask) -> Browser:
    """Ana's window, with a question in it."""
    ask()
    return Browser(ana).open(f"/c/{conversation.uid}/")


def fields(page: Browser, path: str) -> dict[str, list[str]]:
    """A form of the window, filled in."""
    if path in {"dock", "draft"}:
        return page.filled("dock-form", text_deploy_target=WORDS) | {"action": ["submit"]}
    return page.filled("composer", text=WORDS)


def closed(*args: object, **kwargs: object) -> None:
    """The fault is the database's; everything of ours runs."""
    raise OperationalError("server closed the connection unexpectedly")


@contextmanager
def database_gone() -> Iterator[None]:
    """Whatever asks the database anything inside the block, be it who is signed in, fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.backends.utils.CursorWrapper.execute", closed)
        yield


@pytest.mark.parametrize("token", ["good", "stale"])
@pytest.mark.parametrize("path", POSTS)
def test_a_form_comes_back_when_the_database_is_gone(
    page: Browser, conversation: Conversation, path: str, token: str
) -> None:
    form = fields(page, path)
    if token == "stale":
        form["csrfmiddlewaretoken"] = ["x" * 64]
    address = f"/c/{conversation.uid}/{path}"
    with database_gone():
        response = page.response = page.client.post(address, form)
        scripts = page.client.post(address, form, headers={"Accept": "application/json"})
        htmx = page.client.post(address, form, headers={"HX-Request": "true"})
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert response["Content-Type"].startswith("text/html")
    assert WORDS in page.page.words
    assert (scripts.status_code, scripts["Retry-After"], scripts.json()["code"]) == (503, "2", "unavailable")
    assert scripts.json().keys() == {"code", "message", "details"}
    assert (htmx.status_code, htmx["Retry-After"]) == (503, "2")
    assert htmx.content.decode().startswith("The server is busy")
    page.send(f"/c/{conversation.uid}/{path}")
    assert page.status in {200, 204}


@pytest.mark.parametrize("path", ["/", "/c/{uid}/", "/c/{uid}/live", "/sign-in/", "/sign-in/in_x/", "/nowhere/"])
def test_a_page_says_so_when_the_database_is_gone(page: Browser, conversation: Conversation, path: str) -> None:
    with database_gone():
        response = page.client.get(path.format(uid=conversation.uid))
    html = response.content.decode()
    assert response["Content-Type"].startswith("text/html")
    if path == "/nowhere/":
        assert response.status_code == 404
    else:
        assert (response.status_code, response["Retry-After"]) == (503, "2")
        assert "The server is busy for a moment" in html


def test_signing_in_says_so_when_only_the_session_cannot_be_kept(ana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Browser().open(f"/sign-in/{create_sign_in_link(user=ana)}/")

    page.client.raise_request_exception = False
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.save", closed)
    page.send("")
    assert (page.status, page.response["Retry-After"]) == (503, "2")


def large(kind: str) -> dict[str, str]:
    """A form over one of the limits."""
    return {"pad": "x" * 530_000} if kind == "bytes" else {f"pad-{number}": "" for number in range(1_200)}


@pytest.mark.parametrize("kind", ["bytes", "fields"])
@pytest.mark.parametrize("path", POSTS)
def test_too_large_a_form_is_413_and_shows_what_was_typed(
    page: Browser, conversation: Conversation, path: str, kind: str
) -> None:
    body = urlencode({**fields(page, path), **large(kind)}, doseq=True)
    address = f"/c/{conversation.uid}/{path}"
    page.response = page.client.post(address, body, FORM)
    assert page.status == 413
    assert WORDS in page.page.words
    assert "This is too long to send" in page.page.words
    assert f"/c/{conversation.uid}/" in [given.get("href") for _tag, given in page.page.tags]
    scripts = page.client.post(address, body, FORM, headers={"Accept": "application/json"})
    assert (scripts.status_code, scripts.json()["code"]) == (413, "body_too_large")
    htmx = page.client.post(address, body, FORM, headers={"HX-Request": "true"})
    assert (htmx.status_code, htmx.content.decode()) == (413, "This is too long to send. Shorten it, then send again.")
    assert not conversation.messages.filter(kind="person").exists()


def test_too_large_a_form_of_another_kind_is_413_too(page: Browser, conversation: Conversation) -> None:
    assert page.client.post(f"/c/{conversation.uid}/messages", large("fields")).status_code == 413


def test_a_foreign_host_is_refused_in_the_callers_form() -> None:
    client = Client(headers={"Host": "elsewhere.example"})
    for path in ("/api/v1/questions", "/api/docs", "/api/nowhere"):
        response = client.get(path)
        assert (response.status_code, response.json()["code"]) == (400, "bad_host"), path
        assert response.json()["details"] == []
    response = client.get("/sign-in/")
    assert response.status_code == 400
    assert "<h1>" in response.content.decode()
    assert "ALLOWED_HOSTS" in response.content.decode()


def test_a_form_that_cannot_be_read_is_refused_as_a_page(page: Browser, conversation: Conversation) -> None:
    response = page.client.post(f"/c/{conversation.uid}/messages", b"x", "multipart/form-data; boundary=")
    assert response.status_code == 400
    assert "<h1>" in response.content.decode()
