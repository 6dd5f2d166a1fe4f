"""The dock of one tab: which request, which question, and this person's draft in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Count
from django.http import QueryDict
from django.utils.http import urlencode

from controlui.chat import clock
from controlui.chat.ids import new_uid
from controlui.chat.models import Conversation, Stream, User
from controlui.chat.prepared import Prepared
from questions.access import keep_questions, questions_of, with_parts
from questions.models import Draft, Prompt

from .records import docked, waiting

Status = Prompt.Status


@dataclass(frozen=True, slots=True)
class DockView:
    """A tab's view of the dock, kept in its address (design rule 5).

    `quiet`: reminders that come to the front by themselves come folded. One was folded when a blocking prompt took its
    place, or somebody writes in the composer.
    """

    prompt: str = ""
    step: int = 1
    folded: bool = False
    quiet: bool = False

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """The view in a query string or form; nonsense falls back to the start."""
        step = query.get("step", "1")
        return cls(
            prompt=query.get("prompt", "")[:64],
            step=int(step) if step.isascii() and step.isdigit() and len(step) < 3 else 1,
            folded=query.get("folded", "") == "1",
            quiet=query.get("quiet", "") == "1",
        )

    def query_string(self) -> str:
        """The view as a query string, without what is the default."""
        parts: dict[str, Any] = {"prompt": self.prompt} if self.prompt else {}
        if self.step > 1:
            parts["step"] = self.step
        if self.folded:
            parts["folded"] = 1
        if self.quiet:
            parts["quiet"] = 1
        return urlencode(parts)


@dataclass(frozen=True, slots=True)
class OptionState:
    """An option as drawn."""

    key: str
    label: str
    description: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class QuestionState:
    """A question as drawn, with this person's draft in it."""

    number: int
    key: str
    header: str
    full_header: str
    text: str
    multi: bool
    options: list[OptionState]
    other_text: str
    error: str = ""

    @property
    def other_active(self) -> bool:
        """Whether the typed text is (part of) what Submit sends: a chosen option wins in a single choice."""
        return bool(self.other_text.strip()) and (self.multi or not any(option.chosen for option in self.options))

    @property
    def kept_text(self) -> bool:
        """Whether typed text stands beside a chosen option that Submit sends instead (design section 7)."""
        return bool(self.other_text.strip()) and not self.other_active

    @property
    def values(self) -> list[str]:
        """What Submit sends for this question."""
        chosen = [option.label for option in self.options if option.chosen]
        return [*chosen, self.other_text] if self.other_active else chosen


@dataclass(frozen=True, slots=True)
class Dock:
    """Everything the dock's partial draws."""

    prompt: Prompt
    view: DockView
    question: QuestionState
    others: list[QuestionState]
    step: int
    steps: int
    number: int
    requests: int
    blocking_uids: list[str]
    unanswered: int
    previous_uid: str
    next_uid: str
    seconds_left: int | None
    server_now: dt.datetime
    can_extend: bool
    used_up: bool
    agent_name: str
    alternate: bool
    revision: int
    resolution_id: str
    viewer: str
    notice: str = ""
    error: str = ""

    @property
    def blocking(self) -> bool:
        """Whether a run waits for it."""
        return self.prompt.mode == Prompt.Mode.BLOCKING

    @property
    def covers_composer(self) -> bool:
        """Whether it stands in the composer's place (design section 6)."""
        return self.blocking and not self.view.folded

    @property
    def last(self) -> bool:
        """Whether this step's button is Submit."""
        return self.step == self.steps


@dataclass(frozen=True, slots=True)
class Waiting:
    """One pending request of a conversation, as the arrows need it."""

    uid: str
    blocking: bool
    questions: int


_requests = Prepared(
    lambda user, place, streams, at: (
        Prompt.objects.filter(waiting(at), docked(User(pk=user)), conversation=place, message__stream__in=streams)
        .annotate(number=Count("questions"))
        .order_by("pk")
        .values_list("uid", "mode", "number")
    ),
    int,
    int,
    list,
    dt.datetime,
)


def requests_of(conversation: Conversation, user: User, streams: Sequence[Stream], at: dt.datetime) -> list[Waiting]:
    """The requests in this person's dock, of these streams: blocking first (oldest first), then async (design 6)."""
    visible = [stream.pk for stream in streams if stream.prompts]
    if not visible:
        return []
    rows = _requests(user.pk, conversation.pk, visible, at)
    found = [Waiting(uid, mode == Prompt.Mode.BLOCKING, number) for uid, mode, number in rows]
    return sorted(found, key=lambda item: not item.blocking)


_shown = Prepared(
    lambda uid: with_parts(Prompt.objects.filter(uid=uid)).prefetch_related(None).select_related("agent"), str
)
_draft = Prepared(lambda prompt, user: Draft.objects.filter(prompt=prompt, user=user), int, int)


def dock(
    conversation: Conversation,
    user: User,
    view: DockView,
    *,
    streams: Sequence[Stream],
    notice: str = "",
    errors: dict[str, str] | None = None,
    error: str = "",
    at: dt.datetime | None = None,
) -> Dock | None:
    """The dock of one tab; None when nothing waits. An unknown or ended prompt falls back to the first."""
    at = at or clock.now()
    requests = requests_of(conversation, user, streams, at)
    if not requests:
        return None
    uids = [item.uid for item in requests]
    known = view.prompt in uids
    place = uids.index(view.prompt) if known else 0
    if view.prompt and not known:
        # Its step and fold were about another prompt (design rule 5).
        view = DockView(quiet=view.quiet)
    if not known and view.quiet and not requests[place].blocking:
        view = DockView(folded=True)
    (prompt,) = _shown(uids[place])
    keep_questions(prompt, questions_of(prompt.pk))
    draft = next(iter(_draft(prompt.pk, user.pk)), None)
    states = question_states(prompt, draft, errors or {})
    step = min(max(view.step, 1), len(states))
    return Dock(
        prompt=prompt,
        view=DockView(prompt=prompt.uid, step=step, folded=view.folded, quiet=view.quiet and requests[place].blocking),
        question=states[step - 1],
        others=[state for state in states if state.number != step],
        step=step,
        steps=len(states),
        number=place + 1,
        requests=len(requests),
        blocking_uids=[item.uid for item in requests if item.blocking],
        unanswered=sum(item.questions for item in requests),
        previous_uid=uids[place - 1] if len(uids) > 1 else "",
        next_uid=uids[(place + 1) % len(uids)] if len(uids) > 1 else "",
        seconds_left=max(0, round((prompt.closes_at - at).total_seconds())) if prompt.closes_at else None,
        server_now=at,
        can_extend=can_extend(prompt),
        used_up=used_up(prompt),
        agent_name=prompt.agent.name,
        alternate=bool(draft and draft.alternates),
        revision=draft.revision if draft else 0,
        resolution_id=new_uid(),
        viewer=user.username,
        notice=notice,
        error=error,
    )


def can_extend(prompt: Prompt) -> bool:
    """Whether More time would add anything."""
    from questions.transitions.ends import longest_wait

    longest = longest_wait(prompt)
    return longest is not None and prompt.expires_at is not None and longest > prompt.expires_at


def used_up(prompt: Prompt) -> bool:
    """Whether More time was given, and no more can be."""
    if prompt.expires_at is None or prompt.max_timeout_seconds is None or can_extend(prompt):
        return False
    return prompt.expires_at > prompt.created_at + dt.timedelta(seconds=prompt.timeout_seconds or 0)


def question_states(prompt: Prompt, draft: Draft | None, errors: dict[str, str]) -> list[QuestionState]:
    """The prompt's questions with a draft in them."""
    values = draft.values if draft else {}
    states = []
    for number, question in enumerate(prompt.questions.all(), 1):
        given = values.get(question.key) or {}
        chosen = given.get("chosen") or []
        states.append(
            QuestionState(
                number=number,
                key=question.key,
                header=question.header,
                full_header=question.full_header,
                text=question.text,
                multi=question.multi_select,
                options=[
                    OptionState(option["key"], option["label"], option["description"], option["key"] in chosen)
                    for option in question.options
                ],
                other_text=given.get("text") or "",
                error=errors.get(question.key, ""),
            )
        )
    return states


_revisions = Prepared(
    lambda user, place: (
        Draft.objects.filter(user=user, prompt__conversation=place, prompt__status=Status.PENDING)
        .order_by("pk")
        .values_list("pk", "revision")
    ),
    int,
    int,
)


def drafts_token(conversation: Conversation, user: User) -> str:
    """Changes whenever a draft of this person in this conversation's pending prompts does."""
    return ".".join(f"{draft}-{revision}" for draft, revision in _revisions(user.pk, conversation.pk))
