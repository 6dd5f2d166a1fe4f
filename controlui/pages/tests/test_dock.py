"""The dock's buttons in a browser without scripts, stale forms included."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from conftest import ASK_THREE
from controlui.chat.access import Actor
from controlui.chat.models import Agent, Conversation, User
from controlui.chat.transitions import finish_run, open_run
from questions.access import get_prompt_for
from questions.models import Draft, Prompt, PromptEvent
from questions.transitions import answer_prompt, save_draft, skip_prompt, withdraw_prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]


@pytest.fixture
def page(ana: User, conversation: Conversation) -> Browser:
    """Ana's window."""
    return Browser(ana)


def at(conversation: Conversation) -> str:
    return f"/c/{conversation.uid}/"


def fresh(prompt: Prompt, user: User) -> Prompt:
    return get_prompt_for(Actor(user=user), prompt.uid)


def test_a_single_choice_is_answered_by_submit_alone(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask()
    page.open(at(conversation))
    assert page.question() == "Where should I deploy?"
    assert page.dock()["data-covers"] == "1"
    page.press("save", choice_deploy_target="o2")
    prompt.refresh_from_db()
    assert prompt.status == "pending", "Enter on an option, or the hidden twin, never sends"
    page.press("submit")
    prompt.refresh_from_db()
    assert (prompt.status, prompt.answers) == ("answered", {"deploy_target": ["Production"]})
    assert (str(prompt.ended_by), prompt.surface) == ("ana", "web")
    assert page.path() == at(conversation)
    assert "hidden" in page.dock()
    summary = page.page.texts[f"message-{prompt.message.uid}"]
    for words in ("Where should I deploy?", "Production", "answered", "by ana", "via the web page"):
        assert words in summary


def test_nothing_is_chosen_beforehand(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask()
    page.open(at(conversation))
    assert not [tag for tag in page.page.tags if "checked" in tag[1]]


def test_typing_alone_chooses_other(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask()
    page.open(at(conversation)).press("submit", text_deploy_target="Neither\r\nof them")
    prompt.refresh_from_db()
    assert prompt.answers == {"deploy_target": ["Neither\nof them"]}


def test_a_chosen_option_wins_over_typed_text_and_the_box_turns_that_round(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    first, second = ask(), None
    page.open(at(conversation)).press("save", choice_deploy_target="o1", text_deploy_target="mine")
    assert "The option chosen above is what will be sent" in page.html
    page.press("submit")
    first.refresh_from_db()
    assert first.answers == {"deploy_target": ["Staging (Recommended)"]}
    second = ask()
    page.open(at(conversation))
    page.press("submit", choice_deploy_target="o1", text_deploy_target="mine", own_deploy_target="1")
    second.refresh_from_db()
    assert second.answers == {"deploy_target": ["mine"]}


def test_typed_text_equal_to_a_label_stays_typed_text(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask(), ask()
    page.open(at(conversation)).press("next-request", text_deploy_target="Production")
    page.press("previous-request")
    assert ("text-deploy_target", "Production") in page.form("dock-form")["fields"]
    assert not [tag for tag in page.page.tags if "checked" in tag[1]]


def test_three_questions_next_back_and_submit_keep_everything(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    prompt = ask(**ASK_THREE)
    page.open(at(conversation))
    assert "Question 1 of 3" in page.page.texts["dock"]
    assert "1/3" in page.page.texts["dock"]
    page.press("next", choice_where="o2")
    assert (page.question(), page.dock()["data-step"]) == ("Which extras?", "2")
    assert f"prompt={prompt.uid}&step=2" in page.address
    page.press("next", choice_extras=["o3", "o1"], text_extras="and fuzzing")
    page.press("back", text_note="dry")
    page.press("back")
    assert ("choice-where", "o2") in page.form("dock-form")["fields"]
    page.press("next").press("next")
    assert ("text-note", "dry") in page.form("dock-form")["fields"]
    page.press("submit")
    prompt.refresh_from_db()
    assert prompt.answers == {"where": ["B"], "extras": ["Tests", "Logs", "and fuzzing"], "note": ["dry"]}


def test_submit_leads_to_the_first_question_without_an_answer(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    prompt = ask(**ASK_THREE)
    page.open(at(conversation) + f"?prompt={prompt.uid}&step=3")
    page.press("submit", choice_note="o1", text_note="\u200b")
    prompt.refresh_from_db()
    assert (prompt.status, page.status, page.dock()["data-step"]) == ("pending", 422, "1")
    assert page.page.texts["dock-error"] == "Choose an option or type an answer."
    error = next(given for _tag, given in page.page.tags if given.get("id") == "dock-error")
    assert error["tabindex"] == "-1"
    assert "autofocus" in error
    page.press("next", choice_where="o1").press("next", choice_extras="o1").press("submit")
    prompt.refresh_from_db()
    assert prompt.answers == {"where": ["A"], "extras": ["Tests"], "note": ["Calm"]}


@pytest.mark.parametrize("text", ["", "   ", "\u200b\u2060", "\u3164"])
def test_an_answer_that_shows_nothing_is_refused(
    page: Browser, conversation: Conversation, ask: Ask, text: str
) -> None:
    prompt = ask()
    page.open(at(conversation)).press("submit", text_deploy_target=text)
    prompt.refresh_from_db()
    assert (prompt.status, page.status) == ("pending", 422)


def test_a_text_that_is_too_long_says_so_and_stays(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask()
    text = "x" * 10_001
    page.open(at(conversation)).press("submit", text_deploy_target=text)
    prompt.refresh_from_db()
    assert (prompt.status, page.status) == ("pending", 422)
    assert "at most 10,000 characters" in page.page.texts["dock-error"]
    assert ("text-deploy_target", text) in page.form("dock-form")["fields"]


def test_fold_and_unfold_keep_the_step_and_give_the_composer_back(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    ask(**ASK_THREE)
    page.open(at(conversation)).press("next", choice_where="o2").press("fold", choice_extras="o1")
    assert (page.dock()["data-folded"], page.dock()["data-covers"]) == ("1", "")
    bar = page.page.texts["dock-bar"]
    assert "3 unanswered questions" in bar
    assert "Which extras?" in bar
    fold = next(given for _tag, given in page.page.tags if given.get("id") == "dock-fold")
    assert (fold["aria-label"], fold["aria-expanded"]) == ("Expand question", "false")
    page.send("composer", text="meanwhile")
    assert page.dock()["data-folded"] == "1", "sending a message does not open what one has folded"
    page.press("unfold")
    assert page.question() == "Which extras?"
    assert ("choice-extras", "o1") in page.form("dock-form")["fields"]
    assert ("choice-where", "o2") in page.form("dock-form")["fields"]


def test_skip_declines_the_whole_prompt_and_keeps_what_was_typed(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    prompt = ask(**ASK_THREE)
    page.open(at(conversation)).press("skip", text_where="half a tho")
    prompt.refresh_from_db()
    assert prompt.status == "skipped"
    summary = page.page.texts[f"message-{prompt.message.uid}"]
    for words in ("skipped", "by ana", "Where to?", "Which extras?", "Which tone?", "half a tho", "Send as message"):
        assert words in summary


def test_what_was_typed_is_sent_as_a_message_once(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask()
    page.open(at(conversation)).press("skip", text_deploy_target="the old server")
    prompt = Prompt.objects.get()
    for _press in range(2):
        page.send("send-as-message", leftover=prompt.uid)
    sent = conversation.deliveries.get()
    assert (sent.text, sent.reply_to_id) == ("the old server", prompt.message_id)


def test_arrows_switch_between_requests_and_drafts_stay(page: Browser, conversation: Conversation, ask: Ask) -> None:
    first, second = ask(), ask(**ASK_THREE)
    page.open(at(conversation))
    assert "Request 1 of 2" in page.page.texts["dock-head"]
    page.press("next-request", text_deploy_target="typed one")
    assert page.dock()["data-prompt"] == second.uid
    assert "Request 2 of 2" in page.page.texts["dock-head"]
    page.press("next-request", choice_where="o2")
    assert page.dock()["data-prompt"] == first.uid, "it wraps round"
    assert ("text-deploy_target", "typed one") in page.form("dock-form")["fields"]
    page.press("previous-request")
    assert ("choice-where", "o2") in page.form("dock-form")["fields"]
    page.press("submit" if page.dock()["data-steps"] == "1" else "skip")
    assert page.dock()["data-prompt"] == first.uid


def test_a_single_request_has_neither_arrows_nor_stepper(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask()
    page.open(at(conversation))
    assert "Request" not in page.page.texts["dock-head"]
    assert "Question 1 of 1" not in page.html


def test_more_time_adds_up_to_the_longest_wait(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask(timeoutSeconds=600, maxTimeoutSeconds=900)
    page.open(at(conversation))
    assert page.page.texts["dock-timer"] in {"10:00", "9:59"}
    stale = page.filled("dock-form") | {"action": ["more-time"]}
    page.press("more-time")
    assert page.page.texts["dock-timer"] in {"15:00", "14:59"}
    assert "More time" not in page.page.texts["dock-head"]
    response = page.client.post(f"/c/{conversation.uid}/dock", stale)
    assert response.status_code == 409
    assert "There is no more time to give" in response.content.decode()
    prompt.refresh_from_db()
    assert prompt.expires_at == prompt.created_at + dt.timedelta(seconds=900)


def test_the_loser_of_a_race_reads_the_winners_outcome_and_keeps_the_draft(
    page: Browser, conversation: Conversation, ask: Ask, ben: User, ana: User
) -> None:
    prompt = ask()
    page.open(at(conversation))
    earlier = timezone.now() + dt.timedelta(seconds=1)
    answer_prompt(
        prompt=fresh(prompt, ben), user=ben, answers={"deploy_target": ["Production"]}, surface="web", at=earlier
    )
    Prompt.objects.update(ended_at=timezone.now() - dt.timedelta(minutes=2, seconds=5))
    page.press("submit", text_deploy_target="too late")
    assert page.status == 409
    assert "ben answered this on the web page 2\xa0minutes ago. Your draft is kept." in page.page.texts["dock-notice"]
    summary = page.page.texts[f"message-{prompt.message.uid}"]
    assert "Production" in summary
    assert "too late" in summary
    assert PromptEvent.objects.filter(kind="answered").count() == 1
    assert Draft.objects.get(user=ana).values == {"deploy_target": {"chosen": [], "text": "too late"}}


@pytest.mark.parametrize("action", ["save", "next", "back", "fold", "unfold", "submit", "skip", "use-alternate"])
def test_every_button_of_an_ended_prompt_tells_how_it_ended(
    page: Browser, conversation: Conversation, ask: Ask, agent: Agent, ana: User, action: str
) -> None:
    prompt = ask()
    form = page.open(at(conversation)).filled("dock-form", text_deploy_target="typed")
    withdraw_prompt(prompt=fresh(prompt, ana), agent=agent, surface="api")
    response = page.client.post(f"/c/{conversation.uid}/dock", form | {"action": [action]})
    assert response.status_code == 409
    html = response.content.decode()
    assert "The agent withdrew this question just now. Your draft is kept." in html
    assert "typed" in html


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("expired", "This question expired just now."),
        ("aborted", "The run that asked this was aborted just now."),
        ("succeeded", "The run that asked this ended just now."),
        ("skipped", "ben skipped this on Telegram just now."),
    ],
)
def test_the_notice_says_what_ended_it(
    page: Browser, conversation: Conversation, ask: Ask, agent: Agent, ben: User, end: str, words: str
) -> None:
    now = timezone.now()
    opened = now - dt.timedelta(seconds=40) if end == "expired" else now
    run, _created = open_run(agent=agent, session_key="main", client_id="r1", at=opened)
    prompt = ask(runId=run.client_id, timeoutSeconds=60, at=opened)
    page.open(at(conversation))
    if end == "expired":
        Prompt.objects.update(expires_at=now - dt.timedelta(seconds=5), closes_at=now - dt.timedelta(seconds=5))
    elif end == "skipped":
        skip_prompt(prompt=fresh(prompt, ben), user=ben, surface="telegram")
    else:
        finish_run(actor_agent=agent, client_id="r1", status=end)
    page.press("submit", choice_deploy_target="o1")
    assert page.status == 409
    assert words in page.page.texts["dock-notice"]


def test_a_repeat_of_the_same_press_finds_its_own_answer_standing(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    ask()
    form = page.open(at(conversation)).filled("dock-form", choice_deploy_target="o1") | {"action": ["submit"]}
    answers = [page.client.post(f"/c/{conversation.uid}/dock", form) for _press in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]


def test_a_text_edited_elsewhere_can_be_taken_and_taken_back(
    page: Browser, conversation: Conversation, ask: Ask, ana: User
) -> None:
    prompt = ask()
    page.open(at(conversation))
    for tab, text in (("phone", "from the phone"), ("desk", "from the desk")):
        values = {"deploy_target": {"chosen": [], "text": text}}
        save_draft(prompt=fresh(prompt, ana), user=ana, values=values, tab=tab, tab_seq=1, revision=0)
    page.open(at(conversation))
    assert "Also edited elsewhere" in page.page.texts["dock-notice"]
    page.press("use-alternate")
    assert ("text-deploy_target", "from the desk") in page.form("dock-form")["fields"]
    page.press("use-alternate")
    assert ("text-deploy_target", "from the phone") in page.form("dock-form")["fields"]
    page.press("keep-mine")
    assert "Also edited elsewhere" not in page.html
    assert ("text-deploy_target", "from the phone") in page.form("dock-form")["fields"]


def test_a_stale_window_of_the_same_person_loses_neither_text(
    page: Browser, conversation: Conversation, ask: Ask, ana: User
) -> None:
    ask()
    page.open(at(conversation))
    other = Browser(ana).open(at(conversation))
    page.press("save", text_deploy_target="first window")
    other.press("save", text_deploy_target="second window")
    assert "Also edited elsewhere" in other.page.texts["dock-notice"]
    assert ("text-deploy_target", "second window") in other.form("dock-form")["fields"]
    other.press("use-alternate")
    assert ("text-deploy_target", "first window") in other.form("dock-form")["fields"]


def test_nonsense_in_the_address_falls_back_to_the_first_request(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    prompt = ask()
    for query in ("?prompt=nothing&step=2", "?step=99", "?step=-1", "?step=%C2%B2", "?prompt=" + "x" * 500):
        page.open(at(conversation) + query)
        assert (page.status, page.dock()["data-prompt"], page.dock()["data-step"]) == (200, prompt.uid, "1")


def test_a_prompt_of_another_conversation_is_not_found_and_the_text_stays_readable(
    page: Browser, conversation: Conversation, ask: Ask, agent: Agent
) -> None:
    elsewhere = ask(sessionKey="other")
    ask()
    form = page.open(at(conversation)).filled("dock-form", text_deploy_target="my words") | {"action": ["submit"]}
    response = page.client.post(f"/c/{conversation.uid}/dock", form | {"prompt": [elsewhere.uid]})
    assert response.status_code == 404
    assert "my words" in response.content.decode()
    elsewhere.refresh_from_db()
    assert elsewhere.status == "pending"


def test_a_forged_option_key_is_no_answer(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask()
    page.open(at(conversation)).press("submit", choice_deploy_target="o9")
    prompt.refresh_from_db()
    assert (prompt.status, page.status) == ("pending", 422)


def test_scripts_get_the_dock_the_summary_and_the_new_address(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    prompt = ask(**ASK_THREE)
    page.open(at(conversation))
    path, htmx = f"/c/{conversation.uid}/dock", {"HX-Request": "true"}
    form: dict[str, Any] = page.filled("dock-form", choice_where="o1")
    response = page.client.post(path, form | {"action": ["next"]}, headers=htmx)
    assert response.status_code == 200
    assert response["HX-Replace-Url"] == f"/c/{conversation.uid}/?prompt={prompt.uid}&step=2"
    assert response.content.decode().lstrip().startswith('<section id="dock"')
    assert "<html" not in response.content.decode()
    response = page.client.post(path, form | {"action": ["submit"]}, headers=htmx)
    assert response.status_code == 422
    assert 'id="dock-error"' in response.content.decode()
    response = page.client.post(path, form | {"action": ["skip"]}, headers=htmx)
    html = response.content.decode()
    assert html.lstrip().startswith('<section id="dock"')
    assert (
        f'id="message-{prompt.message.uid}"' in html.partition('<hx-partial hx-target="#timeline" hx-swap="place">')[2]
    )
    response = page.client.post(path, form | {"action": ["submit"]}, headers=htmx)
    assert response.status_code == 409
    assert "ana skipped this on the web page just now" in response.content.decode()


def test_a_reload_of_a_refused_form_leads_back_to_the_page(page: Browser, conversation: Conversation) -> None:
    assert page.open(f"/c/{conversation.uid}/dock").path() == at(conversation)


def test_the_check_button_keeps_what_is_typed(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask()
    page.open(at(conversation))
    check = next(given for tag, given in page.page.tags if given.get("data-action") == "check")
    assert check["form"] == "dock-form"
    form = page.filled("dock-form", text_deploy_target="half") | {"action": [check["value"]]}
    page.response = page.client.post(f"/c/{conversation.uid}/dock", form, follow=True)
    assert ("text-deploy_target", "half") in page.form("dock-form")["fields"]


def test_drafts_are_saved_while_typing(
    page: Browser, conversation: Conversation, ask: Ask, agent: Agent, ana: User
) -> None:
    prompt = ask()
    form = page.open(at(conversation)).filled("dock-form", text_deploy_target="typing", tab="t1", tab_seq="2")

    def save(**changes: str) -> tuple[int, dict[str, Any]]:
        fields = form | {key.replace("text_", "text-"): [value] for key, value in changes.items()}
        response = page.client.post(f"/c/{conversation.uid}/draft", fields, headers={"Accept": "application/json"})
        return response.status_code, response.json()

    assert save() == (200, {"revision": 1, "stored": "saved"})
    assert save(tab_seq="1", text_deploy_target="late") == (200, {"revision": 1, "stored": "ignored"})
    assert save(tab="t2", text_deploy_target="elsewhere") == (200, {"revision": 2, "stored": "alternate"})
    assert save(prompt="nothing")[0] == 404
    withdraw_prompt(prompt=fresh(prompt, ana), agent=agent, surface="api")
    status, body = save(tab_seq="3", text_deploy_target="typed to the end")
    assert (status, body["code"]) == (409, "already_resolved")
    assert "The agent withdrew this question just now" in body["message"]
    assert Draft.objects.get().values == {"deploy_target": {"chosen": [], "text": "typed to the end"}}


def test_a_text_in_too_many_places_is_refused_with_the_text_and_submit_still_answers(
    ana: User, conversation: Conversation, ask: Ask
) -> None:
    ask()
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    form = page.filled("dock-form", text_deploy_target="in the end")
    draft = Draft.objects.create(prompt=Prompt.objects.get(), user=ana, updated_at=timezone.now(), revision=60, tab="t")
    draft.alternates = [
        {"tab": f"t{n}", "values": {"deploy_target": {"chosen": [], "text": f"text {n:03}"}}} for n in range(50)
    ]
    draft.values = {"deploy_target": {"chosen": [], "text": "present"}}
    draft.save()
    address = f"/c/{conversation.uid}/dock"
    for action in ("next", "skip", "use-alternate"):
        page.response = page.client.post(address, form | {"action": [action]})
        assert (page.status, "in the end" in page.page.words) == (422, True)
    scripts = page.client.post(f"/c/{conversation.uid}/draft", form, headers={"Accept": "application/json"})
    assert (scripts.status_code, scripts.json()["code"]) == (422, "too_many_versions")
    draft.refresh_from_db()
    assert (draft.values["deploy_target"]["text"], len(draft.alternates)) == ("present", 50)
    page.response = page.client.post(address, form | {"action": ["submit"]})
    assert Prompt.objects.get().answers == {"deploy_target": ["in the end"]}
    Prompt.objects.update(status="pending", answers=None)
    page.response = page.client.post(address, form | {"action": ["keep-mine"]})
    draft.refresh_from_db()
    assert (draft.values["deploy_target"]["text"], len(draft.alternates)) == ("in the end", 50)
