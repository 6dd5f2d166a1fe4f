"""Text from agents and people is text everywhere (bugs case 101), and never reorders or breaks the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlui.chat.access import Actor
from controlui.chat.models import Conversation, User
from controlui.chat.transitions import say
from controlui.pages import prose
from outbox.transitions import enqueue
from questions.access import get_prompt_for
from questions.models import Prompt
from questions.transitions import answer_prompt, save_draft, skip_prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><script>alert(1)</script>",
    "</script></textarea></title>",
    "{{7*7}} {% csrf_token %}",
    "[x](javascript:alert(1))",
    "*bold* <@U123> @everyone",
    "=HYPERLINK(1)",
    "&lt;b&gt; &amp;amp;",
    "\u202egnp.exe\u202c",
    "\u2066a\u2067b\u2069",
    "zero\u200bwidth\u200d",
    "👩‍👩‍👧‍👦🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "x" * 60,
]
ALLOWED = {
    "a", "blockquote", "aside", "bdi", "body", "button", "code", "dd", "details", "div", "dl", "dt", "fieldset", "form",
    "h1", "h2", "head", "header", "html", "input", "label", "legend", "li", "link", "main", "meta", "nav", "noscript",
    "ol", "p", "path", "pre", "script", "section", "span", "strong", "summary", "svg", "textarea", "time", "title",
    "em", "template", "ul",
}  # fmt: skip


def check(page: Browser, payload: str, shown: int) -> None:
    """The payload is on the page as words, and made no element, attribute or handler."""
    tags = page.page.tags
    assert {tag for tag, _given in tags} <= ALLOWED
    assert not [name for _tag, given in tags for name in given if name.startswith("on")]
    scripts = [given for tag, given in tags if tag == "script"]
    assert len(scripts) == 2
    assert all(given["src"].startswith("/static/") for given in scripts)
    assert not [given for _tag, given in tags if given.get("href", "").startswith("javascript")]
    assert page.page.words.count(payload) >= shown, page.page.words


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_question_shows_every_text_as_it_was_written(
    ana: User, conversation: Conversation, ask: Ask, payload: str
) -> None:
    question = {
        "id": "q",
        "header": payload,
        "question": payload,
        "options": [{"label": payload, "description": payload}, {"label": "plain"}],
    }
    prompt = ask(questions=[question, {**question, "id": "r", "multiSelect": True}])
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    check(page, payload, 3)
    page.press("save", text_q=payload)
    check(page, payload, 4)
    assert ("text-q", payload) in page.form("dock-form")["fields"]
    page.press("next")
    assert ("text-q", payload) in page.form("dock-form")["fields"]
    check(page, payload, 3)
    page.press("fold")
    check(page, payload, 2)
    ended = get_prompt_for(Actor(user=ana), prompt.uid)
    answer_prompt(prompt=ended, user=ana, answers={"q": [payload], "r": [payload, "plain"]}, surface="web")
    page.open(f"/c/{conversation.uid}/")
    check(page, payload, 4)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_messages_drafts_and_names_stay_text(ana: User, agent: object, ask: Ask, payload: str) -> None:
    User.objects.filter(pk=ana.pk).update(first_name=payload[:150])
    prompt = ask(sessionKey=payload)
    conversation = prompt.conversation
    enqueue(conversation=conversation, author=User.objects.get(pk=ana.pk), text=payload, key="k")
    mine = get_prompt_for(Actor(user=ana), prompt.uid)
    save_draft(
        prompt=mine,
        user=ana,
        values={"deploy_target": {"chosen": [], "text": payload}},
        tab="t",
        tab_seq=1,
        revision=0,
    )
    skip_prompt(prompt=mine, user=User.objects.get(pk=ana.pk), surface="web")
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    # The heading, the list, the name in the menu, the author, the message, the skipper, the kept text.
    check(page, payload, 7)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_agent_markdown_makes_nothing_that_acts(ana: User, conversation: Conversation, payload: str) -> None:
    say(agent=conversation.agent, session_key="main", text=f"{payload}\n\n> {payload}\n\n- {payload}")
    check(Browser(ana).open(f"/c/{conversation.uid}/"), "", 0)


def test_a_bidi_control_stands_alone_and_is_seen() -> None:
    assert prose.plain("a\u202eb") == 'a<bdi class="mark" title="U+202E">\u202e</bdi>b'
    assert prose.plain("العربية\u200e") == "العربية\u200e"
    assert prose.prose("a\u202eb") == '<p>a<bdi class="mark" title="U+202E">\u202e</bdi>b</p>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** _b_ `c`", "<p><strong>a</strong> <em>b</em> <code>c</code></p>"),
        ("# One\n\n#### Four", "<h3>One</h3>\n<h3>Four</h3>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](data:text/html,x)", "<p>[x](data:text/html,x)</p>"),
        ("```py\n<i>\n```", "<pre><code>&lt;i&gt;\n</code></pre>"),
        ("3. x", '<ol start="3">\n<li>x</li>\n</ol>'),
        ("~~x~~", "<p><s>x</s></p>"),
    ],
)
def test_markdown(text: str, html: str) -> None:
    assert prose.prose(text) == html


def test_links_open_elsewhere_and_images_are_links() -> None:
    for text in ("[x](https://a.example/)", "![x](https://a.example/)", '[x](https://a.example/ "title")'):
        html = prose.prose(text)
        assert 'href="https://a.example/"' in html
        assert 'rel="noopener nofollow"' in html
        assert 'target="_blank"' in html
        assert "<img" not in html
        assert "title" not in html


def test_a_recommended_label_keeps_its_words() -> None:
    assert prose.option_label("Staging (Recommended)") == 'Staging<span class="suggested"> (Recommended)</span>'
    assert prose.option_label("(Recommended)") == "(Recommended)"
    assert prose.option_label("预发布（推荐）") == '预发布<span class="suggested">（推荐）</span>'
    assert prose.option_label("<b> (recommended)") == '&lt;b&gt;<span class="suggested"> (recommended)</span>'


def test_huge_text_is_rendered_without_being_kept() -> None:
    assert prose.prose("x" * 30_000) == f"<p>{'x' * 30_000}</p>"
