"""What /live says: nothing, or the parts that changed."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client

from controlui.chat.access import Actor
from controlui.chat.models import Conversation, User
from controlui.chat.transitions import finish_run, open_run, save_composer_draft, say
from questions.access import get_prompt_for
from questions.models import Prompt
from questions.transitions import save_draft

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]


@pytest.fixture
def page(ana: User, conversation: Conversation) -> Browser:
    """Ana's window."""
    return Browser(ana).open(f"/c/{conversation.uid}/")


def asked(page: Browser, **more: str) -> tuple[int, str]:
    """What the page would fetch now: status and body."""
    live = next(given for _tag, given in page.page.tags if given.get("id") == "live")
    query = [("s", pair) for pair in live["data-streams"].split()] + [("d", live["data-drafts"]), *more.items()]
    response = page.client.get(f"{live['data-url']}?{urlencode(query)}")
    assert response["X-Server-Now"].isdigit()
    assert "no-store" in response["Cache-Control"]
    return response.status_code, response.content.decode()


def parts(html: str) -> list[str]:
    return [piece.partition('"')[0] for piece in html.split('hx-target="')[1:] if piece.startswith("#")]


def test_nothing_new_is_304(page: Browser) -> None:
    assert asked(page) == (304, "")


def test_a_message_comes_as_a_row(page: Browser, conversation: Conversation) -> None:
    message, _created = say(agent=conversation.agent, session_key="main", text="news")
    status, html = asked(page)
    assert status == 200
    assert f'id="message-{message.uid}"' in html
    assert f'id="day-{message.created_at:%Y-%m-%d}"' in html


def test_a_question_comes_with_dock_badge_and_title_count(page: Browser, ask: Ask) -> None:
    prompt = ask()
    _status, html = asked(page)
    assert f'data-prompt="{prompt.uid}"' in html
    assert 'data-waiting="1"' in html
    assert "1 question waiting" in html
    assert "<html" not in html


def test_a_question_elsewhere_shows_in_the_list(page: Browser, ask: Ask) -> None:
    ask(sessionKey="elsewhere")
    status, html = asked(page)
    assert status == 200
    assert "1 question waiting" in html
    assert 'data-waiting="1"' in html


def test_a_draft_saved_elsewhere_is_fetched(page: Browser, ask: Ask, ana: User) -> None:
    prompt = ask()
    page.open(page.address)
    assert asked(page)[0] == 304
    mine = get_prompt_for(Actor(user=ana), prompt.uid)
    save_draft(
        prompt=mine, user=ana, values={"deploy_target": {"chosen": ["o2"], "text": ""}}, tab="t", tab_seq=1, revision=0
    )
    status, html = asked(page)
    assert status == 200
    assert "checked" in html


def test_the_tabs_view_is_kept(page: Browser, ask: Ask) -> None:
    first = ask()
    ask()
    _status, html = asked(page, prompt=first.uid, folded="1")
    assert f'data-prompt="{first.uid}"' in html
    assert 'data-folded="1"' in html


def test_after_a_long_absence_the_newest_page_replaces_what_was_there(
    page: Browser, conversation: Conversation
) -> None:
    for number in range(210):
        say(agent=conversation.agent, session_key="main", text=f"note {number}.")
    _status, html = asked(page)
    assert html.count("message--reply") == 50
    assert '<hx-partial hx-target="#timeline" hx-swap="innerHTML">' in html
    assert 'id="earlier"' in html


def test_work_folds_when_its_run_ends(page: Browser, conversation: Conversation) -> None:
    agent = conversation.agent
    open_run(agent=agent, session_key="main", client_id="r")
    for number in range(3):
        say(agent=agent, session_key="main", text=f"step {number}", kind="commentary", run_id="r")
    page.open(page.address)
    assert "<details open>" in page.html
    assert "Working: 3 notes" in page.html
    finish_run(actor_agent=agent, client_id="r", status="succeeded")
    _status, html = asked(page)
    assert "<details>" in html
    assert "Work: 3 notes" in html


def test_nonsense_is_a_fetch_of_everything(page: Browser) -> None:
    response = page.client.get(page.path() + "live?s=x&s=:&s=a:b&s=c:99999999999999999999&d=&step=x")
    assert response.status_code == 200


def test_title_and_icon_count_what_waits_anywhere(page: Browser, conversation: Conversation, ask: Ask) -> None:
    assert "<title>main · Control UI</title>" in page.html
    ask(), ask(sessionKey="elsewhere")
    page.open(f"/c/{conversation.uid}/")
    assert "<title>(2) main · Control UI</title>" in page.html
    icon = next(given for _tag, given in page.page.tags if given.get("id") == "favicon")
    assert icon["href"] == icon["data-badge"] != icon["data-plain"]
    assert icon["href"].startswith("data:image/svg+xml,")


def test_an_empty_home_counts_too(sam: User) -> None:
    assert "<title>Control UI</title>" in Browser(sam).open("/").html


def test_what_another_page_composed_reaches_a_page_that_does_not_know_it(
    signed_in: Callable[[User], Client], conversation: Conversation, ana: User
) -> None:
    client = signed_in(ana)
    address = f"/c/{conversation.uid}/live"
    save_composer_draft(conversation=conversation, user=ana, text="half a <thought>\nof two lines")
    first = client.get(address).content.decode()
    assert 'data-composed="half a &lt;thought&gt;\nof two lines"' in first
    known = first.partition('data-composer="')[2].partition('"')[0]
    assert known
    assert "data-composed" not in client.get(address, {"c": known}).content.decode()
