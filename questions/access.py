"""The only way from (actor, id) to a prompt. Unknown and forbidden are the same NotFound (design rule 8)."""

from __future__ import annotations

from django.db.models import Prefetch, Q, QuerySet

from controlui.chat import scopes
from controlui.chat.access import Actor, conversations_for, participates, sees_prompts_for, takes_part
from controlui.chat.ids import can_exist
from controlui.chat.prepared import Prepared
from controlui.chat.scopes import scopes_of
from controlui.errors import Conflict, Forbidden, NotFound

from .errors import AgentCannotAnswer
from .models import Prompt, Question


def with_parts(prompts: QuerySet[Prompt]) -> QuerySet[Prompt]:
    """Prompts with everything that a record shows and a transition needs; every join costs each look."""
    return prompts.select_related("conversation", "run", "message__stream", "delivery").prefetch_related(
        Prefetch("questions", Question.objects.order_by("index"))
    )


def prompts_for(actor: Actor, *, answering: bool = False) -> QuerySet[Prompt]:
    """Every prompt the actor may see; the same rules as `sees_prompts_for`, as one query.

    `answering`: only those that they may also answer, which who only looks on may not.
    """
    if actor.agent is not None:
        return Prompt.objects.filter(agent=actor.agent)
    if actor.user is None:
        return Prompt.objects.none()
    if actor.is_admin:
        return Prompt.objects.all()
    mine = Prompt.objects.filter(conversation__in=conversations_for(actor, participating=answering))
    held = scopes_of(actor.user)
    if scopes.QUESTIONS in held:
        return mine.filter(message__stream__audience__isnull=False)
    if scopes.SESSIONS_WRITE not in held:
        return mine.none()
    return mine.filter(message__stream__audience=actor.user, conversation__created_by=actor.user)


_parts = ("conversation__agent", "run", "message__stream", "delivery")
_own = Prepared(
    lambda agent, uid, chosen: Prompt.objects.select_related(*_parts).filter(
        Q(uid=uid) | Q(client_id=chosen), agent=agent
    ),
    int,
    str,
    str,
)
_any = Prepared(
    lambda uid, chosen: Prompt.objects.select_related(*_parts).filter(Q(uid=uid) | Q(client_id=chosen)), str, str
)
questions_of = Prepared(lambda prompt: Question.objects.filter(prompt=prompt).order_by("index"), int)


def keep_questions(prompt: Prompt, questions: list[Question]) -> None:
    """Keeps rows as the prompt's prefetched questions, so that whoever shows it reads nothing more."""
    rows = prompt.questions.all()
    rows._result_cache = questions
    prompt._prefetched_objects_cache = {"questions": rows}  # type: ignore[attr-defined]


def called(actor: Actor, prompt_id: str) -> list[Prompt]:
    """The prompts of this id, whoever may see them; an agent's own only."""
    if not can_exist(prompt_id):
        return []
    return _any(prompt_id, prompt_id) if actor.agent is None else _own(actor.agent.pk, prompt_id, prompt_id)


def get_prompt_for(actor: Actor, prompt_id: str, *, need: str = "view") -> Prompt:
    """The prompt with this id (its own, or the one its agent chose). `need`: "view", "answer", "withdraw".

    Raises NotFound; AgentCannotAnswer for an agent that would answer one it may see, Forbidden (`read_only`) for who
    only looks on; Conflict when a person may see two prompts of different agents under the same id (ask by `uid` then).
    """
    if not can_exist(prompt_id):
        raise NotFound("There is no question with this id, or it is not for you.")
    found = _own(actor.agent.pk, prompt_id, prompt_id) if actor.agent is not None else _any(prompt_id, prompt_id)
    visible = [prompt for prompt in found if sees(actor, prompt)]
    if not visible:
        raise NotFound("There is no question with this id, or it is not for you.")
    if need == "answer" and actor.is_agent:
        raise AgentCannotAnswer
    if need == "withdraw" and not actor.is_agent:
        raise Forbidden(
            "Only the agent that asked can withdraw a question; you can skip it.", code="person_cannot_withdraw"
        )
    exact = [prompt for prompt in visible if prompt.uid == prompt_id]
    if len(visible) > 1 and not exact:
        raise Conflict("Several agents used this id. Use the question's own id.", code="ambiguous_id")
    prompt = (exact or visible)[0]
    if need == "answer" and not participates(actor, prompt.conversation):
        raise Forbidden("You may read this conversation, but not answer in it.", code="read_only")
    keep_questions(prompt, questions_of(prompt.pk))
    return prompt


def sees(actor: Actor, prompt: Prompt) -> bool:
    """Whether the actor may see this very prompt: the rule of `prompts_for` for a row already read."""
    if not takes_part(actor, prompt.conversation):
        return False
    return sees_prompts_for(actor, prompt.conversation, prompt.message.stream.audience_id)
