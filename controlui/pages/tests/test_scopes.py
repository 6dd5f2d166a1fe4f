"""Who sees and answers which question, on every surface: cast x prompt x surface in one table (study 1.8, 8D).

Each prompt is there, and its words are in the database, before anybody looks: what a surface does not show was to be
found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.contrib.auth.models import AnonymousUser, Permission
from django.test import Client

from controlui.chat.access import Actor, ticket_for, visible_streams
from controlui.chat.models import Agent, Conversation, Membership, User
from controlui.chat.scopes import READ
from controlui.chat.transitions import (
    create_agent,
    create_token,
    create_user,
    finish_run,
    open_run,
    say,
    start_conversation,
)
from controlui.live import tickets
from outbox.models import Delivery
from outbox.transitions import discard, enqueue
from questions.models import Draft, Prompt
from questions.queries import waiting_total
from questions.transitions import answer_prompt, reopen_reminder, save_draft, skip_prompt

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]

PEOPLE = ("ana", "ben", "eve", "oda", "vic", "gus", "gia", "rea", "sam", "nil", "off", "nobody")
# Prompt -> who sees it, and who of those may also answer it.
TABLE = {
    "shared": ({"ana", "ben", "eve", "oda"}, {"ana", "ben", "eve"}),
    "gias": ({"ana", "eve", "gia"}, {"ana", "eve", "gia"}),
    "gias, in somebody else's": ({"ana", "ben", "eve", "oda"}, {"ana", "ben", "eve"}),
    "of no run, in gias": ({"ana", "eve"}, {"ana", "eve"}),
    "sessionless": ({"ana", "eve"}, {"ana", "eve"}),
}


@pytest.fixture
def cast(ana: User, ben: User, vic: User, sam: User, conversation: Conversation) -> dict[str, Any]:
    """ana: admin and owner; eve: another admin; ben: operator; oda: operator who views; vic: guest who views; gus:
    guest who takes part; gia: guest with a conversation of her own; rea: reads only; sam: operator and stranger; nil:
    takes part, without any scope; off: deactivated admin; nobody: not signed in."""
    people = {
        "eve": create_user(username="eve", group="admins"),
        "oda": create_user(username="oda"),
        "gus": create_user(username="gus", group="guests"),
        "gia": create_user(username="gia", group="guests"),
        "rea": User.objects.create_user("rea"),
        "nil": User.objects.create_user("nil"),
        "off": create_user(username="off", group="admins"),
    }
    people["rea"].user_permissions.add(Permission.objects.get(codename=READ, content_type__app_label="chat"))
    for name, role in (("oda", "viewer"), ("gus", "participant"), ("gia", "participant"), ("rea", "participant")):
        Membership.objects.create(conversation=conversation, user=people[name], role=role)
    Membership.objects.create(conversation=conversation, user=people["nil"])
    User.objects.filter(username="off").update(is_active=False)
    everybody = {"ana": ana, "ben": ben, "vic": vic, "sam": sam, "nobody": AnonymousUser(), **people}
    return {name: everybody[name] for name in PEOPLE}


@pytest.fixture
def prompts(
    cast: dict[str, Any], conversation: Conversation, agent: Agent, ask: Ask, agent_accepts: Callable[[], int]
) -> dict[str, Prompt]:
    """One prompt of each kind, each with words of its own."""
    gia = cast["gia"]
    own = start_conversation(agent=agent, user=gia, key="mine")
    runs = {}
    for place in (own, conversation):
        delivery, _new = enqueue(conversation=place, author=gia, text="Ask me.", key=f"from-gia-{place.key}")
        assert agent_accepts() == 1
        runs[place.pk], _new = open_run(agent=agent, session_key=place.key, trigger_message_id=delivery.uid)
        assert runs[place.pk].acts_for == gia
    return {
        "shared": ask(questions=[question("shared")]),
        "gias": ask(sessionKey=own.key, runId=runs[own.pk].client_id, questions=[question("gias")]),
        "gias, in somebody else's": ask(runId=runs[conversation.pk].client_id, questions=[question("abroad")]),
        "of no run, in gias": ask(sessionKey=own.key, questions=[question("unbound")]),
        "sessionless": ask(sessionKey=None, questions=[question("homeless")]),
    }


def question(word: str) -> dict[str, Any]:
    """A question that nothing else on a page looks like."""
    return {
        "id": "q",
        "header": word,
        "question": f"Marker {word}?",
        "options": [{"label": "Aye"}, {"label": "Nay"}],
    }


def browser(user: Any) -> Client:
    """The person's browser."""
    client = Client()
    if user.is_authenticated and user.is_active:
        client.force_login(user)
    return client


def bearer(user: Any) -> dict[str, str]:
    """The person's way to the API; a token that was made before they were deactivated stays what it is."""
    return {"Authorization": f"Bearer {create_token(user=user)}"} if user.is_authenticated else {}


def looks(user: Any, prompt: Prompt) -> set[str]:
    """On which surfaces this person meets the prompt."""
    return looks_in_browser(user, prompt) | looks_through_api(user, prompt)


def looks_in_browser(user: Any, prompt: Prompt) -> set[str]:
    """Page, partial, badge, and the streams that the page's socket may join."""
    web, place = browser(user), f"/c/{prompt.conversation.uid}/"
    html = web.get(f"{place}?prompt={prompt.uid}").content.decode()
    marker = prompt.questions.get().text
    met = (
        {"page"} if any(sign in html for sign in (marker, f'data-prompt="{prompt.uid}"', prompt.message.uid)) else set()
    )
    if marker in web.get(f"{place}live").content.decode():
        met.add("live")
    if user.is_authenticated and alone_waits(user, prompt):
        met.add("badge")
    found = re.search(r"/ws/\?t=([^\"]+)", html)
    if found and user.is_authenticated:
        joined = tickets.read(unquote(found[1]), user.pk) or []
        if any(prompt.message.stream.uid in group for group in joined):
            met.add("ticket")
    return met


def alone_waits(user: User, prompt: Prompt) -> bool:
    """Whether this prompt counts as waiting for the person, were it the only one."""
    others = Prompt.objects.exclude(pk=prompt.pk).filter(status="pending")
    pks = list(others.values_list("pk", flat=True))
    Prompt.objects.filter(pk__in=pks).update(status="cancelled")
    waits = waiting_total(Actor(user=User.objects.get(pk=user.pk))) > 0
    Prompt.objects.filter(pk__in=pks).update(status="pending")
    return waits


def looks_through_api(user: Any, prompt: Prompt) -> set[str]:
    """The record, the list of records, and the conversation's history."""
    api, marker = Client(headers=bearer(user)), prompt.questions.get().text
    met = {"get"} if api.get(f"/api/v1/questions/{prompt.uid}").status_code == 200 else set()
    history = api.get(f"/api/v1/sessions/{prompt.conversation.key}/messages").content.decode()
    if marker in api.get("/api/v1/questions").content.decode() or marker in history or prompt.message.uid in history:
        met.add("list")
    return met


def acts(user: Any, prompt: Prompt) -> dict[str, int]:
    """How each way to do something to the prompt ends for this person; nothing is left changed by it."""
    web, api = browser(user), Client(headers=bearer(user))
    place = f"/c/{prompt.conversation.uid}/"
    form = {"prompt": prompt.uid, "action": "save", "text-q": "typed"}
    return {
        "draft": web.post(f"{place}draft", form).status_code,
        "dock": web.post(f"{place}dock", form).status_code,
        "reopen": web.post(f"{place}dock", form | {"action": "reopen"}).status_code,
        "more time": web.post(f"{place}dock", form | {"action": "more-time"}).status_code,
        "answer": api.post(
            f"/api/v1/questions/{prompt.uid}/answer", {"answers": {"q": []}}, content_type="application/json"
        ).status_code,
        "skip": api.post(
            f"/api/v1/questions/{prompt.uid}/skip", {"unknown": 1}, content_type="application/json"
        ).status_code,
    }


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("kind", TABLE)
def test_who_meets_which_question_where(cast: dict[str, Any], prompts: dict[str, Prompt], kind: str, name: str) -> None:
    see, answer = TABLE[kind]
    met = looks(cast[name], prompts[kind])
    if name not in see:
        assert met == set()
    elif name in answer:
        assert met == {"page", "live", "badge", "ticket", "get", "list"}
    else:
        # Who only looks on sees what is asked, and nothing that says it waits for them.
        assert met == {"page", "live", "ticket", "get", "list"}


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("kind", TABLE)
def test_who_can_do_something_to_which_question(
    cast: dict[str, Any], prompts: dict[str, Prompt], kind: str, name: str
) -> None:
    see, answer = TABLE[kind]
    before = Prompt.objects.filter(pk=prompts[kind].pk).values().get()
    ends = acts(cast[name], prompts[kind])
    if name in answer:
        assert ends == {"draft": 200, "dock": 303, "reopen": 409, "more time": 409, "answer": 422, "skip": 422}
    elif name in see:
        assert set(ends.values()) == {403}
    else:
        signed_out = name in {"off", "nobody"}
        assert {ends[way] for way in ("draft", "dock", "reopen", "more time")} == {401 if signed_out else 404}
        assert {ends[way] for way in ("answer", "skip")} == {401 if signed_out else 404}
        assert not Draft.objects.filter(prompt=prompts[kind]).exists()
    assert Prompt.objects.filter(pk=prompts[kind].pk).values().get() == before


@pytest.mark.parametrize("name", [name for name in PEOPLE if name != "nobody"])
def test_unknown_and_forbidden_are_the_same_answer(cast: dict[str, Any], prompts: dict[str, Prompt], name: str) -> None:
    api = Client(headers=bearer(cast[name]))
    for kind, (see, _answer) in TABLE.items():
        if name in see:
            continue
        uid = prompts[kind].uid
        for path in ("", "/answer", "/skip"):
            ways = [
                api.post(f"/api/v1/questions/{each}{path}", {}, content_type="application/json")
                if path in {"/answer", "/skip"}
                else api.get(f"/api/v1/questions/{each}{path}")
                for each in (uid, "A" * 22)
            ]
            assert ways[0].status_code == ways[1].status_code, (kind, path)
            assert ways[0].content == ways[1].content, (kind, path)


def test_agents_see_their_own_and_answer_none(agent_token: str, prompts: dict[str, Prompt]) -> None:
    mine, theirs = (
        Client(headers={"Authorization": f"Bearer {token}"})
        for token in (agent_token, create_token(agent=create_agent(name="stranger")))
    )
    for prompt in prompts.values():
        path = f"/api/v1/questions/{prompt.uid}"
        assert mine.get(path).status_code == 200
        assert mine.post(f"{path}/answer", {"answers": {}}, content_type="application/json").status_code == 403
        assert theirs.get(path).status_code == 404
        assert theirs.post(f"{path}/answer", {"answers": {}}, content_type="application/json").status_code == 404
    assert theirs.get("/api/v1/questions").json()["questions"] == []


# -- what happens around a hidden prompt ------------------------------------------------------------------------------

VOLATILE = [
    (r'data-now="\d+"', 'data-now=""'),
    (r'name="(key|tab|csrfmiddlewaretoken)" value="[^"]*"', r'name="\1"'),
    (r"/ws/\?t=[^\"]+", "/ws/"),
]


def everything(user: User, conversation: Conversation) -> dict[str, str]:
    """All that a person can read of a conversation, without what is made anew for each page."""
    web, api = browser(user), Client(headers=bearer(user))
    place = f"/c/{conversation.uid}/"
    read = {path: web.get(path, follow=True).content.decode() for path in ("/", place, f"{place}live", "/new/")}
    for path in (
        f"/api/v1/sessions/{conversation.key}",
        f"/api/v1/sessions/{conversation.key}/messages",
        "/api/v1/questions",
    ):
        read[path] = api.get(path).content.decode()
    for pattern, put in VOLATILE:
        read = {path: re.sub(pattern, put, text) for path, text in read.items()}
    return read


@pytest.fixture
def listening(settings: Any) -> Iterator[Callable[[User, Conversation], Callable[[], list[Any]]]]:
    """Joins everything that a page of this person may hear; what was heard since is what the result gives."""
    # Of this layer one can say at once that nothing has come.
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    layer = get_channel_layer()

    def listen(user: User, conversation: Conversation) -> Callable[[], list[Any]]:
        streams = visible_streams(Actor(user=user), conversation)
        joined = tickets.read(ticket_for(user, streams, "en"), user.pk)
        assert joined
        channel = async_to_sync(layer.new_channel)()
        for group in joined:
            async_to_sync(layer.group_add)(group, channel)

        def heard() -> list[Any]:
            queue = layer.channels.get(channel)
            return [] if queue is None else [queue.get_nowait() for _each in range(queue.qsize())]

        return heard

    yield listen
    async_to_sync(layer.flush)()


def events_of_a_hidden_prompt(
    ask: Ask, ben: User, agent_accepts: Callable[[], int], conversation: Conversation
) -> Iterator[str]:
    """A blocking prompt and reminders live through everything that can happen to them."""
    first = ask(questions=[question("hidden")])
    yield "asked"
    save_draft(prompt=first, user=ben, values={"q": {"chosen": [], "text": "hm"}}, tab="t", tab_seq=1, revision=0)
    yield "typed"
    answer_prompt(prompt=first, user=ben, answers={"q": ["Aye"]}, surface="web")
    yield "answered"
    later = ask(mode="async", questions=[question("later")])
    yield "asked async"
    skip_prompt(prompt=later, user=ben, surface="web")
    yield "skipped"
    reopen_reminder(prompt=later, user=ben, surface="web")
    yield "reopened"
    answer_prompt(prompt=later, user=ben, answers={"q": ["Nay"]}, surface="web")
    yield "submitted"
    discard(delivery=Delivery.objects.get(about=later.uid))
    yield "discarded"
    later.refresh_from_db()
    answer_prompt(prompt=later, user=ben, answers={"q": ["Nay"]}, surface="web")
    assert agent_accepts() == 1
    yield "accepted"
    ended = ask(questions=[question("ended")])
    enqueue(conversation=conversation, author=ben, text="> Marker ended?\n\nAye", key="left", reply_to=ended.message)
    yield "sent what was typed"
    assert agent_accepts() == 1
    yield "taken"


@pytest.mark.parametrize("name", ["vic", "gus", "rea"])
def test_a_hidden_prompt_leaves_no_trace_for_who_may_not_see_it(
    cast: dict[str, Any],
    conversation: Conversation,
    ask: Ask,
    agent_accepts: Callable[[], int],
    listening: Callable[[User, Conversation], Callable[[], list[Any]]],
    django_capture_on_commit_callbacks: Any,
    name: str,
) -> None:
    say(agent=conversation.agent, session_key="main", text="Good morning.")
    other = start_conversation(agent=conversation.agent, user=cast[name], key="newer")
    before = everything(cast[name], conversation)
    heard, ben_heard = listening(cast[name], conversation), listening(cast["ben"], conversation)
    happened = events_of_a_hidden_prompt(ask, cast["ben"], agent_accepts, conversation)
    while True:
        with django_capture_on_commit_callbacks(execute=True):
            event = next(happened, "")
        if not event:
            break
        assert heard() == [], event
        now = everything(cast[name], conversation)
        assert now == before, event
    assert ben_heard() != [], "there was something to hear"
    assert conversation.messages.filter(text__contains="Marker").count() > 3, "there was something to see"
    assert json.loads(before["/api/v1/questions"])["questions"] == []
    assert other.uid in before["/"], "the newest conversation is still where it was"


def test_a_conversation_in_which_something_waits_is_always_listed(
    cast: dict[str, Any], conversation: Conversation, ask: Ask
) -> None:
    ask(questions=[question("old")])
    for number in range(55):
        start_conversation(agent=conversation.agent, user=cast["ben"], key=str(number))
    page = browser(cast["ben"]).get("/", follow=True)
    assert "Marker old?" in page.content.decode(), "home leads to it"
    assert f'href="/c/{conversation.uid}/"' in page.content.decode()


def test_the_end_of_a_run_leaves_what_it_asked_readable_for_its_guest(
    cast: dict[str, Any], prompts: dict[str, Prompt], agent: Agent
) -> None:
    gias = prompts["gias"]
    assert gias.run is not None
    finish_run(actor_agent=agent, client_id=gias.run.client_id, status="succeeded")
    api = Client(headers=bearer(cast["gia"]))
    assert api.get(f"/api/v1/questions/{gias.uid}").json()["status"] == "cancelled"


def test_a_guest_who_is_removed_from_their_own_conversation_sees_nothing_of_it(
    cast: dict[str, Any], prompts: dict[str, Prompt]
) -> None:
    Membership.objects.filter(user=cast["gia"], conversation=prompts["gias"].conversation).delete()
    assert looks(cast["gia"], prompts["gias"]) == set()
