"""What the timeline keeps of a prompt: each question in full, its outcome, and what was typed for nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from controlui.chat.access import Actor
from controlui.chat.models import Message, User
from controlui.chat.prepared import Prepared
from outbox.queries import Going, going
from questions.access import keep_questions, with_parts
from questions.models import Draft, Prompt, Question

from .dock import question_states
from .records import shown_as

Status = Prompt.Status
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


@dataclass(frozen=True, slots=True)
class SummaryQuestion:
    """A question in full, with its values."""

    text: str
    header: str
    values: list[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the timeline keeps of a prompt, for one viewer. `retired`: a reminder in history, not in their dock."""

    prompt: Prompt
    status: str
    reason: str
    who: str
    surface_name: str
    ended_at: dt.datetime | None
    questions: list[SummaryQuestion]
    leftover: list[SummaryQuestion] = field(default_factory=list)
    going: Going | None = None
    retired: bool = False
    acts: bool = True
    may_reopen: bool = False
    text: str = ""

    @property
    def pending(self) -> bool:
        """Whether it still waits for an answer in the dock."""
        return self.status == Status.PENDING and not self.retired

    @property
    def outcome(self) -> str:
        """One word for the end (design section 6)."""
        if self.retired:
            return _("no longer pending")
        if self.going is not None and self.status == Status.SUBMITTED:
            return self.going.word
        words = {
            Status.PENDING: _("waiting for your answer") if self.acts else _("waiting for an answer"),
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
            "accepted_late": _("The agent had accepted this earlier answer after all. The newer one was taken back."),
        }
        if self.retired:
            went_on = _("The agent went on without an answer.")
            return _("The agent went on without an answer. You can still give one.") if self.acts else went_on
        return sentences.get(self.reason, "")

    @property
    def leftover_text(self) -> str:
        """What the person had ticked and typed, as one text to copy or send."""
        if len(self.questions) == 1:
            return "\n".join(value for item in self.leftover for value in item.values)
        return "\n\n".join(f"> {item.text}\n\n" + ", ".join(item.values) for item in self.leftover)


_of_messages = Prepared(
    lambda messages: (
        with_parts(Prompt.objects.filter(message__in=messages))
        .prefetch_related(None)
        .select_related("agent", "ended_by", "delivery__author", "delivery__conversation__agent")
    ),
    list,
)
_questions = Prepared(lambda prompts: Question.objects.filter(prompt__in=prompts).order_by("prompt", "index"), list)
_drafts = Prepared(lambda prompts, user: Draft.objects.filter(prompt__in=prompts, user=user), list, int)


def prompts_of(messages: Iterable[Message]) -> dict[int, Prompt]:
    """The prompts that these messages stand for, by message pk, with their parts: two queries."""
    wanted = [message.pk for message in messages if message.kind == Message.Kind.PROMPT]
    if not wanted:
        return {}
    found = {prompt.message_id: prompt for prompt in _of_messages(wanted)}
    questions: dict[int, list[Question]] = {prompt.pk: [] for prompt in found.values()}
    for question in _questions([*questions]) if questions else []:
        questions[question.prompt_id].append(question)
    for prompt in found.values():
        keep_questions(prompt, questions[prompt.pk])
    return found


def drafts_of(prompts: Iterable[Prompt], user: User) -> dict[int, Draft]:
    """This person's drafts of these prompts, by prompt pk."""
    wanted = [prompt.pk for prompt in prompts]
    return {draft.prompt_id: draft for draft in _drafts(wanted, user.pk)} if wanted else {}


def summary(prompt: Prompt, user: User, draft: Draft | None, at: dt.datetime, *, acts: bool = True) -> Summary:
    """The summary of a prompt for a viewer; `draft` is the viewer's own, `acts` whether they may answer here."""
    status, reason = shown_as(prompt, at)
    delivery = prompt.delivery
    submitted = status == Status.SUBMITTED and delivery is not None
    answers: dict[str, list[str]] = prompt.answers or (delivery.answers if submitted and delivery else None) or {}
    edited = delivery.text if submitted and delivery and delivery.answers is None else ""
    by_agent = reason == "withdrawn"
    by = delivery.author_id if submitted and delivery else prompt.ended_by_id if status == Status.ANSWERED else None
    mine = by == user.pk
    actor = Actor(user=user)
    kept = draft is not None and draft.kept
    retired = status == Status.PENDING and prompt.retired_at is not None and not kept
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
        leftover=unsent(leftover(prompt, draft), answers if mine else {}) if is_over(prompt, status) else [],
        going=going(delivery, actor, prompt.agent) if submitted and delivery else None,
        retired=retired,
        acts=acts,
        may_reopen=acts and (retired or (prompt.mode == Prompt.Mode.ASYNC and status == Status.SKIPPED)),
        text=prompt.answer_text or edited,
    )


def is_over(prompt: Prompt, status: str) -> bool:
    """Whether what was typed for it goes nowhere any more, so that history keeps it to copy or send. A reminder that
    can be reopened keeps it as its draft."""
    if prompt.mode == Prompt.Mode.ASYNC and status in {Status.SKIPPED, Status.SUBMITTED}:
        return False
    return status != Status.PENDING


def unsent(kept: list[SummaryQuestion], answers: dict[str, list[str]]) -> list[SummaryQuestion]:
    """What of a draft did not go out: with a person's own answer, the text typed beside the option they sent."""
    if not answers:
        return kept
    sent = {value for values in answers.values() for value in values}
    rest = [replace(item, values=[value for value in item.values if value.strip() not in sent]) for item in kept]
    return [item for item in rest if item.values]


def leftover(prompt: Prompt, draft: Draft | None) -> list[SummaryQuestion]:
    """What the viewer had ticked and typed when the prompt ended otherwise (bugs case 27)."""
    if draft is None:
        return []
    kept = []
    for question, state in zip(prompt.questions.all(), question_states(prompt, draft, {}), strict=True):
        chosen = [option.label for option in state.options if option.chosen]
        # What another tab typed at the same time was kept beside it, and is no less the person's.
        others = [other["values"].get(question.key, {}).get("text", "") for other in draft.alternates]
        texts = [text for text in dict.fromkeys([state.other_text, *others]) if text.strip()]
        values = [*chosen, *texts]
        if values:
            kept.append(SummaryQuestion(question.text, question.full_header, values))
    return kept
