"""Drafts: in one tab the newest save stands; of two tabs neither text is lost (design rule 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controlui.chat.models import User
from questions.models import Draft, Prompt
from questions.transitions import SavedDraft, drop_alternate, save_draft, skip_prompt, use_alternate

Asks = Callable[..., Prompt]


def typed(text: str, *chosen: str) -> dict[str, Any]:
    """A draft of the cast's prompt."""
    return {"deploy_target": {"chosen": list(chosen), "text": text}}


@pytest.fixture
def prompt(ask: Asks) -> Prompt:
    """A pending prompt."""
    return ask()


def save(prompt: Prompt, user: User, text: str, tab: str, tab_seq: int, revision: int, **more: Any) -> SavedDraft:
    """One save of one tab."""
    return save_draft(prompt=prompt, user=user, values=typed(text), tab=tab, tab_seq=tab_seq, revision=revision, **more)


def texts(prompt: Prompt, user: User) -> tuple[str, list[str]]:
    """The present text, and those kept beside it."""
    draft = Draft.objects.get(prompt=prompt, user=user)
    others = [other["values"]["deploy_target"]["text"] for other in draft.alternates]
    return draft.values.get("deploy_target", {}).get("text", ""), others


def test_a_late_save_of_the_same_tab_is_ignored(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "hello world", "t1", 2, 0)
    late = save(prompt, ana, "hello", "t1", 1, 0)
    assert (late.stored, texts(prompt, ana)) == ("ignored", ("hello world", []))


def test_a_tab_goes_on_without_waiting_for_revisions(prompt: Prompt, ana: User) -> None:
    assert [save(prompt, ana, text, "t1", seq, 0).stored for seq, text in enumerate(["a", "ab", "abc"])] == [
        "saved"
    ] * 3
    assert texts(prompt, ana) == ("abc", [])


def test_a_second_device_that_knows_the_revision_goes_on(prompt: Prompt, ana: User) -> None:
    first = save(prompt, ana, "from the desk", "t1", 1, 0)
    second = save(prompt, ana, "from the desk, and the phone", "t2", 1, first.revision)
    assert (second.stored, texts(prompt, ana)) == ("saved", ("from the desk, and the phone", []))


def test_two_tabs_at_once_keep_both_texts(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    other = save(prompt, ana, "theirs", "t2", 1, 0)
    assert (other.stored, texts(prompt, ana)) == ("alternate", ("mine", ["theirs"]))
    # Being told does not make the second tab the winner: it goes on beside the first, and so does the first.
    assert save(prompt, ana, "theirs, longer", "t2", 2, other.revision).stored == "alternate"
    assert save(prompt, ana, "mine, longer", "t1", 2, 0).stored == "saved"
    third = save(prompt, ana, "and a third", "t3", 1, 0)
    assert (third.stored, texts(prompt, ana)) == ("alternate", ("mine, longer", ["theirs, longer", "and a third"]))


def test_using_the_other_text_swaps_and_keeps_both(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    save(prompt, ana, "theirs", "t2", 1, 0)
    use_alternate(prompt=prompt, user=ana)
    assert texts(prompt, ana) == ("theirs", ["mine"])
    use_alternate(prompt=prompt, user=ana)
    assert texts(prompt, ana) == ("mine", ["theirs"])
    drop_alternate(prompt=prompt, user=ana)
    assert texts(prompt, ana) == ("mine", [])


def test_going_on_with_the_other_text_still_keeps_the_own_one(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    save(prompt, ana, "theirs", "t2", 1, 0)
    revision = use_alternate(prompt=prompt, user=ana)
    assert save(prompt, ana, "theirs, edited", "t1", 2, revision).stored == "saved"
    assert texts(prompt, ana) == ("theirs, edited", ["mine"])


def test_a_button_pressed_in_a_stale_tab_takes_over_and_keeps_the_other(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    pressed = save(prompt, ana, "pressed", "t2", 1, 0, take_over=True)
    assert (pressed.stored, texts(prompt, ana)) == ("saved", ("pressed", ["mine"]))


def test_a_draft_is_the_persons_own(prompt: Prompt, ana: User, ben: User) -> None:
    save(prompt, ana, "ana's", "t", 1, 0)
    save(prompt, ben, "ben's", "t", 1, 0)
    assert (texts(prompt, ana), texts(prompt, ben)) == (("ana's", []), ("ben's", []))


def test_only_what_the_prompt_has_is_kept(prompt: Prompt, ana: User) -> None:
    values: dict[str, dict[str, Any]] = {
        "deploy_target": {"chosen": ["o9", "o2", "o1"], "text": "x" * 200_000 + "\x00"},
        "ghost": {"text": "boo"},
    }
    save_draft(prompt=prompt, user=ana, values=values, tab="t", tab_seq=1, revision=0)
    draft = Draft.objects.get(prompt=prompt, user=ana)
    assert draft.values == {"deploy_target": {"chosen": ["o1"], "text": "x" * 100_000}}


def test_a_draft_of_an_ended_prompt_is_still_kept(prompt: Prompt, ana: User, ben: User) -> None:
    skip_prompt(prompt=prompt, user=ben, surface="web")
    assert save(prompt, ana, "typed meanwhile", "t", 1, 0).stored == "saved"
    assert texts(prompt, ana) == ("typed meanwhile", [])


def test_the_summary_of_an_ended_prompt_is_drawn_anew_with_it(prompt: Prompt, ana: User, ben: User) -> None:
    skip_prompt(prompt=prompt, user=ben, surface="web")
    save(prompt, ana, "typed meanwhile", "t", 1, 0)
    prompt.message.refresh_from_db()
    prompt.message.stream.refresh_from_db()
    assert (prompt.message.version, prompt.message.stream.version) == (3, 3)


def test_saving_locks_and_bumps_nothing_of_the_conversation(prompt: Prompt, ana: User) -> None:
    before = (prompt.conversation.seq, prompt.message.stream.version)
    save(prompt, ana, "text", "t", 1, 0)
    prompt.conversation.refresh_from_db()
    prompt.message.stream.refresh_from_db()
    assert (prompt.conversation.seq, prompt.message.stream.version) == before
