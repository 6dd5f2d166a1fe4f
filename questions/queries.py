"""Reads of prompts: the wire record, the dock, summaries. A row past its moment is *shown* as ended."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from django.db.models import Count, F, Q, QuerySet
from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from controlui.chat import clock
from controlui.chat.access import Actor
from controlui.chat.ids import new_uid
from controlui.chat.models import Conversation, Message, Stream, User, wire_time

from .access import prompts_for, with_parts
from .models import Draft, Prompt, Question

Status = Prompt.Status
NO_ANSWER = {Status.SKIPPED, Status.EXPIRED, Status.CANCELLED}
ADVICE = "Continue with your best judgment, and do not ask the same question again."
SENTENCES = {
    "expired": "Nobody answered in time.",
    "skipped": "The person declined to answer.",
    "withdrawn": "You withdrew the question.",
    "run_aborted": "The run was aborted while the question was open.",
    "run_ended": "The run ended while the question was open.",
    "run_deadline": "The run reached its time limit while the question was open.",
    "superseded": "The session was started anew while the question was open.",
    "undeliverable": "The question could not be shown to anybody.",
}
IN_TEXT = "Nobody has answered twice in a row: if you must know, say so in your reply instead of asking again."
SURFACES = {
    "web": gettext_noop("the web page"),
    "api": gettext_noop("the API"),
    "mcp": gettext_noop("MCP"),
    "gateway": gettext_noop("the gateway"),
    "tui": gettext_noop("the terminal"),
    "text": gettext_noop("a text reply"),
    "telegram": gettext_noop("Telegram"),
    "slack": gettext_noop("Slack"),
    "discord": gettext_noop("Discord"),
    "mattermost": gettext_noop("Mattermost"),
}


def shown_as(prompt: Prompt, at: dt.datetime) -> tuple[str, str]:
    """`(status, end_reason)` at a moment: reads never write, so a row past its moment only looks ended."""
    if prompt.status != Status.PENDING or prompt.is_open(at):
        return prompt.status, prompt.end_reason
    if prompt.expires_at and prompt.closes_at and prompt.closes_at < prompt.expires_at:
        return Status.CANCELLED, "run_deadline"
    return Status.EXPIRED, "expired"


def record(prompt: Prompt, *, for_agent: bool = False, at: dt.datetime | None = None) -> dict[str, Any]:
    """A prompt on the wire (design section 5). Agents see `no_answer` for every end without an answer."""
    status, reason = shown_as(prompt, at or clock.now())
    data: dict[str, Any] = {
        "id": prompt.wire_id,
        "mode": prompt.mode,
        "status": "no_answer" if for_agent and status in NO_ANSWER else status,
        "expiresAt": wire_time(prompt.expires_at),
        "timeoutSeconds": prompt.timeout_seconds,
        "questions": [question_record(question) for question in prompt.questions.all()],
        "createdAt": wire_time(prompt.created_at),
    }
    if prompt.max_timeout_seconds is not None:
        data["maxTimeoutSeconds"] = prompt.max_timeout_seconds
    if not prompt.conversation.sessionless:
        data["sessionKey"] = prompt.conversation.key
    if prompt.run is not None:
        data["runId"] = prompt.run.client_id
    if not for_agent and prompt.client_id is not None:
        data["uid"] = prompt.uid
    outcome = result(prompt, status, reason)
    if outcome is not None:
        data["result"] = outcome
    return data


def question_record(question: Question) -> dict[str, Any]:
    """A question on the wire, as the seed names its fields."""
    options = [
        {"label": option["label"], **({"description": option["description"]} if option["description"] else {})}
        for option in question.options
    ]
    data = {"id": question.key, "header": question.header, "question": question.text, "options": options}
    return data | {"multiSelect": question.multi_select}


def result(prompt: Prompt, status: str, reason: str) -> dict[str, Any] | None:
    """The seed's result JSON once the prompt has ended; None before."""
    if status == Status.ANSWERED:
        return {"status": "answered", "answers": {"answers": prompt.answers}}
    if status not in NO_ANSWER:
        return None
    sentence = SENTENCES.get(reason, "The question was cancelled.")
    advice = f"{ADVICE} {IN_TEXT}" if reason == "expired" and expired_before(prompt) else ADVICE
    return {"status": "no_answer", "reason": reason or "cancelled", "message": f"{sentence} {advice}"}


def expired_before(prompt: Prompt) -> bool:
    """Whether the prompt before this one in its conversation expired too (bugs case 48)."""
    earlier = Prompt.objects.filter(conversation=prompt.conversation_id, pk__lt=prompt.pk)
    return earlier.order_by("-pk").values_list("status", flat=True).first() == Status.EXPIRED


def waiting(at: dt.datetime) -> Q:
    """The prompts that still take an answer at a moment."""
    return Q(status=Status.PENDING) & (Q(closes_at=None) | Q(closes_at__gt=at))


def waiting_counts(
    actor: Actor, conversations: Iterable[Conversation], at: dt.datetime | None = None
) -> dict[int, int]:
    """How many prompts wait for this person, by conversation pk; only what they may answer is counted."""
    rows = (
        prompts_for(actor)
        .filter(waiting(at or clock.now()), conversation__in=[item.pk for item in conversations], retired_at=None)
        .values("conversation")
        .annotate(number=Count("pk"))
    )
    return {row["conversation"]: row["number"] for row in rows}


def waiting_total(actor: Actor, at: dt.datetime | None = None) -> int:
    """How many prompts wait for this person anywhere: the number in the title (bugs case 107)."""
    return prompts_for(actor).filter(waiting(at or clock.now()), retired_at=None).count()


# -- the dock ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DockView:
    """A tab's view of the dock, kept in its address (design rule 5)."""

    prompt: str = ""
    step: int = 1
    folded: bool = False

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """The view in a query string or form; nonsense falls back to the start."""
        step = query.get("step", "1")
        return cls(
            prompt=query.get("prompt", "")[:64],
            step=int(step) if step.isascii() and step.isdigit() and len(step) < 3 else 1,
            folded=query.get("folded", "") == "1",
        )

    def query_string(self) -> str:
        """The view as a query string, without what is the default."""
        parts: dict[str, Any] = {"prompt": self.prompt} if self.prompt else {}
        if self.step > 1:
            parts["step"] = self.step
        if self.folded:
            parts["folded"] = 1
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
    unanswered: int
    previous_uid: str
    next_uid: str
    seconds_left: int | None
    server_now: dt.datetime
    can_extend: bool
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


def requests_of(conversation: Conversation, streams: Sequence[Stream], at: dt.datetime) -> list[Waiting]:
    """The pending requests in these streams: blocking first (oldest first), then async (design section 6)."""
    visible = [stream.pk for stream in streams if stream.prompts]
    if not visible:
        return []
    rows = (
        Prompt.objects.filter(waiting(at), conversation=conversation, message__stream__in=visible, retired_at=None)
        .annotate(number=Count("questions"))
        .order_by("pk")
        .values_list("uid", "mode", "number")
    )
    found = [Waiting(uid, mode == Prompt.Mode.BLOCKING, number) for uid, mode, number in rows]
    return sorted(found, key=lambda item: not item.blocking)


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
    requests = requests_of(conversation, streams, at)
    if not requests:
        return None
    uids = [item.uid for item in requests]
    known = view.prompt in uids
    place = uids.index(view.prompt) if known else 0
    if not known:
        view = DockView(prompt="", step=1, folded=view.folded and not view.prompt)
    prompt = with_parts(Prompt.objects.filter(uid=uids[place])).get()
    draft = Draft.objects.filter(prompt=prompt, user=user).first()
    states = question_states(prompt, draft, errors or {})
    step = min(max(view.step, 1), len(states))
    return Dock(
        prompt=prompt,
        view=DockView(prompt=prompt.uid, step=step, folded=view.folded),
        question=states[step - 1],
        others=[state for state in states if state.number != step],
        step=step,
        steps=len(states),
        number=place + 1,
        requests=len(requests),
        unanswered=sum(item.questions for item in requests),
        previous_uid=uids[place - 1] if len(uids) > 1 else "",
        next_uid=uids[(place + 1) % len(uids)] if len(uids) > 1 else "",
        seconds_left=max(0, round((prompt.closes_at - at).total_seconds())) if prompt.closes_at else None,
        server_now=at,
        can_extend=can_extend(prompt),
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
    from .transitions.ends import longest_wait

    longest = longest_wait(prompt)
    return longest is not None and prompt.expires_at is not None and longest > prompt.expires_at


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


def drafts_token(conversation: Conversation, user: User) -> str:
    """Changes whenever a draft of this person in this conversation's pending prompts does."""
    drafts = Draft.objects.filter(user=user, prompt__conversation=conversation, prompt__status=Status.PENDING)
    return ".".join(f"{prompt}-{revision}" for prompt, revision in drafts.order_by("pk").values_list("pk", "revision"))


# -- summaries --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummaryQuestion:
    """A question in full, with its values."""

    text: str
    header: str
    values: list[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the timeline keeps of a prompt, for one viewer."""

    prompt: Prompt
    status: str
    reason: str
    who: str
    surface_name: str
    ended_at: dt.datetime | None
    questions: list[SummaryQuestion]
    leftover: list[SummaryQuestion] = field(default_factory=list)

    @property
    def pending(self) -> bool:
        """Whether it still waits for an answer."""
        return self.status == Status.PENDING

    @property
    def outcome(self) -> str:
        """One word for the end (design section 6)."""
        words = {
            Status.PENDING: _("waiting for your answer"),
            Status.ANSWERED: _("answered"),
            Status.SKIPPED: _("skipped"),
            Status.EXPIRED: _("expired"),
            Status.CANCELLED: _("cancelled"),
        }
        return words.get(Status(self.status), self.status)

    @property
    def explanation(self) -> str:
        """Why it ended without a person, as a sentence; empty otherwise."""
        sentences = {
            "withdrawn": _("The agent withdrew the question."),
            "run_aborted": _("The run was aborted."),
            "run_ended": _("The run ended without waiting for the answer."),
            "run_deadline": _("The run reached its time limit."),
            "superseded": _("The conversation was started anew."),
            "undeliverable": _("The question could not be shown to anybody."),
        }
        return sentences.get(self.reason, "")

    @property
    def leftover_text(self) -> str:
        """What the person had ticked and typed, as one text to copy or send."""
        if len(self.questions) == 1:
            return "\n".join(value for item in self.leftover for value in item.values)
        return "\n\n".join(f"> {item.text}\n\n" + ", ".join(item.values) for item in self.leftover)


def prompts_of(messages: Iterable[Message]) -> dict[int, Prompt]:
    """The prompts that these messages stand for, by message pk, with their parts: two queries."""
    wanted = [message.pk for message in messages if message.kind == Message.Kind.PROMPT]
    if not wanted:
        return {}
    return {prompt.message_id: prompt for prompt in with_parts(Prompt.objects.filter(message__in=wanted))}


def drafts_of(prompts: Iterable[Prompt], user: User) -> dict[int, Draft]:
    """This person's drafts of these prompts, by prompt pk."""
    return {draft.prompt_id: draft for draft in Draft.objects.filter(prompt__in=list(prompts), user=user)}


def summary(prompt: Prompt, user: User | None, draft: Draft | None, at: dt.datetime) -> Summary:
    """The summary of a prompt for a viewer; `draft` is the viewer's own."""
    status, reason = shown_as(prompt, at)
    answers: dict[str, list[str]] = prompt.answers or {}
    by_agent = reason == "withdrawn"
    mine = user is not None and prompt.ended_by_id == user.pk and status == Status.ANSWERED
    return Summary(
        prompt=prompt,
        status=status,
        reason=reason,
        who=str(prompt.ended_by) if prompt.ended_by else prompt.agent.name if by_agent else "",
        surface_name=_(SURFACES[prompt.surface]) if prompt.surface in SURFACES and prompt.ended_by else "",
        ended_at=prompt.ended_at or (prompt.closes_at if status != Status.PENDING else None),
        questions=[
            SummaryQuestion(question.text, question.full_header, answers.get(question.key, []))
            for question in prompt.questions.all()
        ],
        leftover=leftover(prompt, draft) if status != Status.PENDING and not mine else [],
    )


def leftover(prompt: Prompt, draft: Draft | None) -> list[SummaryQuestion]:
    """What the viewer had ticked and typed when the prompt ended otherwise (bugs case 27)."""
    if draft is None:
        return []
    kept = []
    for question, state in zip(prompt.questions.all(), question_states(prompt, draft, {}), strict=True):
        chosen = [option.label for option in state.options if option.chosen]
        values = [*chosen, state.other_text] if state.other_text.strip() else chosen
        if values:
            kept.append(SummaryQuestion(question.text, question.full_header, values))
    return kept


def listed(actor: Actor, *, status: str = "", at: dt.datetime | None = None) -> QuerySet[Prompt]:
    """The actor's prompts, newest first, by the status they are shown with (`no_answer`: any end without one)."""
    found = with_parts(prompts_for(actor)).order_by("-pk")
    at = at or clock.now()
    due = Q(status=Status.PENDING, closes_at__lte=at)
    by_run = Q(closes_at__lt=F("expires_at"))
    rules = {
        Status.PENDING: waiting(at),
        Status.EXPIRED: Q(status=Status.EXPIRED) | (due & ~by_run),
        Status.CANCELLED: Q(status=Status.CANCELLED) | (due & by_run),
        "no_answer": Q(status__in=NO_ANSWER) | due,
    }
    return found.filter(rules.get(status, Q(status=status))) if status else found
