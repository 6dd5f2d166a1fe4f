"""Drafts: in one tab the newest save stands; of two tabs neither text is lost (design rule 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controlui.chat import alternates
from controlui.chat.alternates import ALTERNATES_MAX
from controlui.chat.errors import TooManyVersions
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


def test_after_a_choice_a_tab_that_does_not_know_it_still_takes_nothing_away(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    save(prompt, ana, "theirs", "t2", 1, 0)
    drop_alternate(prompt=prompt, user=ana)
    assert save(prompt, ana, "theirs, longer", "t2", 2, 0).stored == "alternate"
    assert texts(prompt, ana) == ("mine", ["theirs, longer"])


def test_pressed_on_one_sees_every_text(prompt: Prompt, ana: User) -> None:
    for name in ("one", "two", "three"):
        save(prompt, ana, name, name, 1, 0)
    seen = []
    for _press in range(3):
        use_alternate(prompt=prompt, user=ana)
        seen.append(texts(prompt, ana)[0])
    assert seen == ["three", "two", "one"]


def test_an_empty_tab_takes_nothing_away_and_an_empty_draft_is_nobodys(prompt: Prompt, ana: User) -> None:
    save(prompt, ana, "mine", "t1", 1, 0)
    assert save(prompt, ana, "", "t2", 1, 0, take_over=True).stored == "ignored"
    assert texts(prompt, ana) == ("mine", [])
    assert save(prompt, ana, "", "t1", 2, 0).stored == "saved"
    assert save(prompt, ana, "theirs", "t2", 2, 0).stored == "saved"
    assert texts(prompt, ana) == ("theirs", [])


def test_nothing_typed_is_dropped_for_a_bound(prompt: Prompt, ana: User) -> None:
    names = [f"text {number:03}" for number in range(ALTERNATES_MAX + 1)]
    for name in names:
        save(prompt, ana, name, name, 1, 0)
    with pytest.raises(TooManyVersions):
        save(prompt, ana, "one more", "last", 1, 0)
    with pytest.raises(TooManyVersions):
        save(prompt, ana, "one more", "last", 1, 0, take_over=True)
    present, others = texts(prompt, ana)
    assert sorted([present, *others]) == names
    # A tab that is there already goes on.
    assert save(prompt, ana, f"{names[-1]}, longer", names[-1], 2, 0).stored == "alternate"
    assert save(prompt, ana, f"{names[0]}, longer", names[0], 2, 0).stored == "saved"


def test_over_the_bound_what_stands_elsewhere_makes_room(prompt: Prompt, ana: User) -> None:
    names = [f"text {number:03}" for number in range(ALTERNATES_MAX)]
    for name in ("text 0", *names):
        save(prompt, ana, name, name, 1, 0)
    draft = Draft.objects.get(prompt=prompt, user=ana)
    twice = {**draft.alternates[3], "tab": "long gone"}
    Draft.objects.filter(pk=draft.pk).update(alternates=[twice, *draft.alternates[1:]])
    assert save(prompt, ana, "one more", "last", 1, 0).stored == "alternate"
    present, others = texts(prompt, ana)
    assert sorted([present, *others]) == sorted(["text 0", *names[1:], "one more"])


@pytest.mark.parametrize(
    ("one", "other", "covered"),
    [
        (typed("abc"), typed(" b "), True),
        (typed("abc"), typed("d"), False),
        (typed("abc", "o1"), typed("", "o1"), True),
        (typed("abc"), typed("", "o1"), False),
        ({}, typed("a"), False),
        (typed("a"), {}, True),
        ("abc", "b", True),
        ("abc", "abcd", False),
    ],
)
def test_what_stands_elsewhere(one: Any, other: Any, covered: bool) -> None:
    assert alternates.covers(one, other) is covered
