"""Opening a prompt: at most once per id or key, only for a main run, in one transaction."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.db import IntegrityError

from controlui.chat import clock
from controlui.chat.errors import KeyReused, RunEnded, invalid
from controlui.chat.models import Agent, Conversation, Message, Run, User
from controlui.chat.transitions import Change, change, open_conversation, statements
from controlui.chat.transitions.conversations import clean_key
from controlui.chat.transitions.runs import find_run
from questions import events
from questions.access import keep_questions
from questions.errors import NotMainSession, PromptAlreadyPending, PromptIdInUse, TooManyPending
from questions.models import AskKey, Prompt, PromptEvent, Question
from questions.schema import Ask

from .ends import expire

KEY_LIFETIME = dt.timedelta(hours=24)
# An identical ask of the same run within this time is a retry whose first reply was lost (bugs case 75).
RETRY_WINDOW = dt.timedelta(seconds=10)


def open_prompt(
    *, agent: Agent, ask: Ask, body_digest: str, key: str | None = None, at: dt.datetime | None = None
) -> tuple[Prompt, bool]:
    """Opens the prompt of an ask; `(prompt, created)`, not created when this was a repeat.

    `ask` is parsed already, `body_digest` its canonical digest, `key` an Idempotency-Key.
    Raises NotFound, InvalidInput, RunEnded, NotMainSession, PromptAlreadyPending, PromptIdInUse, KeyReused,
    TooManyPending. Nothing is half-created.
    """
    earlier = replayed(agent, ask, body_digest, key, at or clock.now())
    if earlier is not None:
        return earlier, False
    conversation, run = place_of(agent, ask)
    try:
        with change(conversation, at) as opened:
            # Again under the lock: of two repeats at once, one opens and the other finds it.
            earlier = replayed(agent, ask, body_digest, key, opened.at) or retried(opened, ask, run, body_digest)
            if earlier is not None:
                return earlier, False
            check_place(opened, run, blocking=ask.mode == Prompt.Mode.BLOCKING)
            prompt = write(opened, agent, ask, run, body_digest)
            if key is not None:
                AskKey.objects.create(agent=agent, key=key, prompt=prompt, created_at=opened.at)
    except IntegrityError:
        # The same key or id, at once, in another conversation: the other transaction is through now.
        earlier = replayed(agent, ask, body_digest, key, at or clock.now())
        if earlier is None:
            raise
        return earlier, False
    return prompt, True


def replayed(agent: Agent, ask: Ask, body_digest: str, key: str | None, now: dt.datetime) -> Prompt | None:
    """The prompt that this key or id opened before. Raises KeyReused or PromptIdInUse for another body."""
    if key is not None:
        AskKey.objects.filter(agent=agent, key=key, created_at__lte=now - KEY_LIFETIME).delete()
        used = AskKey.objects.select_related("prompt").filter(agent=agent, key=key).first()
        if used is not None:
            if used.prompt.body_digest != body_digest:
                raise KeyReused
            return used.prompt
    if ask.client_id is not None:
        first = Prompt.objects.filter(agent=agent, client_id=ask.client_id).first()
        if first is not None:
            if first.body_digest != body_digest:
                raise PromptIdInUse
            return first
    return None


def retried(opened: Change, ask: Ask, run: Run | None, body_digest: str) -> Prompt | None:
    """The pending prompt of the same run with the same body, opened moments ago, when no id was given."""
    if run is None or ask.client_id is not None:
        return None
    return Prompt.objects.filter(
        run=run,
        body_digest=body_digest,
        client_id=None,
        status=Prompt.Status.PENDING,
        created_at__gt=opened.at - RETRY_WINDOW,
        ask_keys=None,
    ).first()


def place_of(agent: Agent, ask: Ask) -> tuple[Conversation, Run | None]:
    """Where the prompt stands. Raises NotFound, InvalidInput, NotMainSession."""
    if ask.run_id is not None:
        run = find_run(agent, ask.run_id)
        if run.kind != Run.Kind.MAIN:
            raise NotMainSession
        if ask.session_key is not None and clean_key(ask.session_key) != run.conversation.key:
            raise invalid("sessionKey", "other_session", "The run belongs to another session.")
        run.conversation.agent = agent
        return run.conversation, run
    live = statements.fetch(
        "SELECT DISTINCT kind FROM chat_run WHERE agent_id = %s AND status = %s", [agent.pk, Run.Status.RUNNING]
    )
    if live == [(Run.Kind.SUBAGENT,)]:
        raise NotMainSession
    if ask.session_key is None:
        return open_conversation(agent=agent, sessionless=True), None
    return open_conversation(agent=agent, key=ask.session_key), None


def check_place(opened: Change, run: Run | None, *, blocking: bool) -> None:
    """Raises when the run is over or waits for an answer already, or when the conversation is full."""
    ((number,),) = statements.fetch(
        "SELECT COUNT(*) FROM questions_prompt WHERE conversation_id = %s AND status = %s",
        [opened.conversation.pk, Prompt.Status.PENDING],
    )
    if number >= settings.PENDING_PER_CONVERSATION:
        raise TooManyPending(retry_after=30, extra={"limit": settings.PENDING_PER_CONVERSATION})
    if run is None:
        return
    run.refresh_from_db(fields=["status", "deadline_at"])
    if run.status != Run.Status.RUNNING or run.deadline_at <= opened.at:
        raise RunEnded
    if not blocking:
        return
    pending = Prompt.objects.filter(run=run, mode=Prompt.Mode.BLOCKING, status=Prompt.Status.PENDING)
    for waiting in pending.select_related("message__stream"):
        if waiting.is_open(opened.at):
            raise PromptAlreadyPending(extra={"id": waiting.wire_id})
        expire(opened, waiting)


def write(opened: Change, agent: Agent, ask: Ask, run: Run | None, body_digest: str) -> Prompt:
    """The rows of a new prompt: its message, itself, its questions, its first event."""
    audience = audience_of(opened.conversation, agent, run)
    message = opened.add_message(
        stream=opened.stream(prompts=True, audience=audience),
        kind=Message.Kind.PROMPT,
        text=readable(ask),
        run=run,
    )
    waits = ask.mode == Prompt.Mode.BLOCKING
    expires_at = opened.at + dt.timedelta(seconds=ask.timeout_seconds) if waits else None
    closes_at = min(expires_at, run.deadline_at) if expires_at and run else expires_at
    prompt = Prompt(
        client_id=ask.client_id,
        body_digest=body_digest,
        agent=agent,
        conversation=opened.conversation,
        run=run,
        message=message,
        acts_for=audience,
        mode=ask.mode,
        timeout_seconds=ask.timeout_seconds if waits else None,
        max_timeout_seconds=ask.max_timeout_seconds if waits else None,
        expires_at=expires_at,
        closes_at=closes_at,
        opened_seq=message.seq,
        created_at=opened.at,
    )
    statements.insert(prompt)
    questions = [
        Question(
            prompt=prompt,
            index=index,
            key=question.key,
            header=question.header,
            full_header=question.full_header,
            text=question.text,
            multi_select=question.multi_select,
            options=[
                {"key": f"o{place}", "label": option.label, "description": option.description}
                for place, option in enumerate(question.options, 1)
            ],
        )
        for index, question in enumerate(ask.questions)
    ]
    for row in questions:
        statements.insert(row)
    keep_questions(prompt, questions)
    events.append(
        opened,
        prompt,
        PromptEvent.Kind.OPENED,
        agent=agent,
        surface="api",
        content={"body": body_digest, "text": message.text, "expiresAt": expires_at and expires_at.isoformat()},
    )
    return prompt


def audience_of(conversation: Conversation, agent: Agent, run: Run | None) -> User | None:
    """The person whose prompts these are; nobody for a sessionless one, so that only admins see it."""
    if conversation.sessionless:
        return None
    return run.acts_for if run is not None else agent.owner


def readable(ask: Ask) -> str:
    """The prompt as plain text, for history and for surfaces without controls."""
    blocks = []
    for question in ask.questions:
        lines = [question.text]
        for place, option in enumerate(question.options, 1):
            lines.append(f"{place}. {option.label}" + (f" - {option.description}" if option.description else ""))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
