"""The buttons of the dock: each saves what is typed, then makes at most one transition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from controlui.chat import clock
from controlui.chat.errors import TooManyVersions
from controlui.errors import ControlUIError, InvalidInput, NotFound
from questions import access, queries, schema, transitions
from questions.errors import AlreadyResolved, NoMoreTime
from questions.models import Draft, Prompt
from questions.queries import DockView

from .forms import DockForm, Values, answers_of
from .outcomes import sentence
from .page import Place

SURFACE = "web"
UNDO = dt.timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a press leads: the next view, and what the dock has to say. `ended`: the prompt is in history now."""

    view: DockView
    status: int = 200
    notice: str = ""
    error: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    ended: Prompt | None = None
    undo: str = ""


def find_prompt(place: Place, uid: str) -> Prompt:
    """The prompt of a form, if this person may answer it and it stands in this conversation. Raises NotFound."""
    prompt = access.get_prompt_for(place.actor, uid, need="answer")
    if prompt.conversation_id != place.conversation.pk:
        raise NotFound
    return prompt


def press(place: Place, form: DockForm) -> Outcome:
    """One press on a button of the dock. Raises NotFound; every other refusal is an Outcome."""
    prompt = find_prompt(place, form.view.prompt)
    values = keep(place, prompt, form)
    try:
        return ACTIONS.get(form.action, stay)(place, prompt, form, values)
    except AlreadyResolved as lost:
        view = replace(form.view, prompt="", step=1)
        return Outcome(view, status=409, notice=sentence(lost.prompt), ended=lost.prompt)
    except NoMoreTime:
        return Outcome(form.view, status=409, notice=_("There is no more time to give. The longest wait is reached."))


def keep(place: Place, prompt: Prompt, form: DockForm) -> Values:
    """Saves the form's draft; the values of the whole prompt. The folded bar carries none and saves none."""
    keys = [question.key for question in prompt.questions.all()]
    values = {key: form.values[key] for key in keys if key in form.values}
    if len(values) < len(keys):
        draft = Draft.objects.filter(prompt=prompt, user=place.request.user).first()
        values = {**(draft.values if draft else {}), **values}
    if form.values:
        try:
            save(place, prompt, form, values)
        except TooManyVersions:
            # An answer carries everything itself, and keeping this text makes room for it.
            if form.action not in {"submit", "keep-mine"}:
                raise
    return values


def save(place: Place, prompt: Prompt, form: DockForm, values: Values) -> None:
    """Makes the form's draft the present one."""
    transitions.save_draft(
        prompt=prompt,
        user=place.request.user,
        values=values,
        tab=form.save.tab,
        tab_seq=form.save.tab_seq,
        revision=form.save.revision,
        take_over=True,
    )


def stay(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Only saves: the hidden twin of Next and Submit, so that Enter on an option sends nothing."""
    return still_open(prompt, form.view)


def still_open(prompt: Prompt, view: DockView) -> Outcome:
    """The next view of a prompt that still waits; of an ended one, how it ended."""
    status, _reason = queries.shown_as(prompt, clock.now())
    if status == Prompt.Status.PENDING:
        return Outcome(view)
    return Outcome(replace(view, prompt="", step=1), status=409, notice=sentence(prompt), ended=prompt)


def go_on(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """The next question. Looking ahead is free: Submit checks them all."""
    return still_open(prompt, replace(form.view, step=form.view.step + 1))


def go_back(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """The question before."""
    return still_open(prompt, replace(form.view, step=max(1, form.view.step - 1)))


def fold(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """The slim bar; nothing is answered or skipped by it."""
    return still_open(prompt, replace(form.view, folded=True))


def unfold(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """The panel again, at the question it was left at."""
    return still_open(prompt, replace(form.view, folded=False))


def switch(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Another pending request; an arrow always opens its target."""
    shown = queries.dock(place.conversation, place.request.user, form.view, streams=place.streams)
    target = ""
    if shown is not None:
        target = shown.next_uid if form.action == "next-request" else shown.previous_uid
    return Outcome(DockView(prompt=target, step=1, quiet=form.view.quiet))


def submit(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Answers the whole prompt, or leads to the first question that still needs something."""
    questions = list(prompt.questions.all())
    answers = answers_of(questions, values)
    errors = {key: _("Choose an option or type an answer.") for key, given in answers.items() if not any_ink(given)}
    if not errors:
        try:
            transitions.answer_prompt(
                prompt=prompt,
                user=place.request.user,
                answers=answers,
                surface=SURFACE,
                resolution_id=form.resolution_id or None,
            )
            return Outcome(after(form.view), ended=prompt)
        except InvalidInput as refused:
            errors = faults_by_question(refused, answers)
    prompt.refresh_from_db(fields=["status", "closes_at"])
    still = still_open(prompt, form.view)
    if still.ended is not None:
        return still
    first = next(number for number, question in enumerate(questions, 1) if question.key in errors)
    return Outcome(replace(form.view, step=first, folded=False), status=422, errors=errors)


def any_ink(values: list[str]) -> bool:
    """Whether an answer shows anything at all."""
    return any(not schema.is_blank(value) for value in values)


def faults_by_question(refused: InvalidInput, answers: dict[str, list[str]]) -> dict[str, str]:
    """What is wrong, per question, in the person's language."""
    errors = {}
    for key in answers:
        found = [fault for fault in refused.details if fault["path"].partition("[")[0] == f"answers.{key}"]
        if found:
            errors[key] = words_of(found[0])
    return errors or {next(iter(answers)): _("This answer cannot be sent as it is.")}


def words_of(fault: dict[str, object]) -> str:
    """One fault as a sentence."""
    limit = fault.get("limit")
    if fault["rule"] == "length" and isinstance(limit, int):
        return ngettext(
            "An answer has at most %(limit)s character. Shorten it, then submit again.",
            "An answer has at most %(limit)s characters. Shorten it, then submit again.",
            limit,
        ) % {"limit": f"{limit:,}"}
    return _("This answer has characters that cannot be sent. Remove them, then submit again.")


def skip(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Declines the whole prompt."""
    transitions.skip_prompt(
        prompt=prompt, user=place.request.user, surface=SURFACE, resolution_id=form.resolution_id or None
    )
    undo = prompt.uid if prompt.mode == Prompt.Mode.ASYNC else ""
    return Outcome(after(form.view), ended=prompt, undo=undo)


def reopen(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Undo of a Skip, or Answer in the timeline: the reminder is in the dock again, open, with its draft."""
    transitions.reopen_reminder(prompt=prompt, user=place.request.user, surface=SURFACE)
    return Outcome(DockView(prompt=prompt.uid), ended=prompt)


def undo_of(place: Place, data: QueryDict) -> str:
    """The reminder that a page says it can still undo the skipping of, if it can; else ""."""
    uid = data.get("undo", "")[:64]
    return uid if uid and may_undo(place, uid) else ""


def may_undo(place: Place, uid: str) -> bool:
    """Whether this person skipped that reminder moments ago: only so long does Undo stand in the dock."""
    try:
        prompt = find_prompt(place, uid)
    except ControlUIError:
        return False
    if prompt.mode != Prompt.Mode.ASYNC or prompt.status != Prompt.Status.SKIPPED or prompt.ended_at is None:
        return False
    return prompt.ended_by_id == place.request.user.pk and clock.now() - prompt.ended_at < UNDO


def after(view: DockView) -> DockView:
    """The view once a prompt has left the dock: the first of those that still wait."""
    return DockView(folded=view.folded, quiet=view.quiet)


def more_time(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Lets the agent wait longer, up to what it allowed."""
    transitions.extend_prompt(prompt=prompt, user=place.request.user, surface=SURFACE)
    return Outcome(form.view)


def use_alternate(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Swaps the text with the one edited elsewhere; pressed again, swaps back."""
    transitions.use_alternate(prompt=prompt, user=place.request.user)
    return still_open(prompt, form.view)


def keep_mine(place: Place, prompt: Prompt, form: DockForm, values: Values) -> Outcome:
    """Keeps this text and forgets the other."""
    transitions.drop_alternate(prompt=prompt, user=place.request.user)
    if form.values:
        save(place, prompt, form, values)
    return still_open(prompt, form.view)


Action = Callable[[Place, Prompt, DockForm, Values], Outcome]
ACTIONS: dict[str, Action] = {
    "save": stay,
    "check": stay,
    "next": go_on,
    "back": go_back,
    "submit": submit,
    "skip": skip,
    "reopen": reopen,
    "more-time": more_time,
    "fold": fold,
    "unfold": unfold,
    "previous-request": switch,
    "next-request": switch,
    "use-alternate": use_alternate,
    "keep-mine": keep_mine,
}
