"""The REST doors for prompts: access, schema, one transition, a record. Waiting is at controlui.api.wait."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from controlui.chat import clock
from controlui.chat.access import Actor
from controlui.chat.api import actor_of, agent_of
from controlui.errors import NotFound
from controlui.rest.docs import IDEMPOTENCY_KEY, PAGING, REPLAYED, id_parameter, operation
from controlui.rest.shape import Check
from controlui.rest.views import (
    ApiView,
    checked,
    idempotency_key,
    next_page,
    no_fields,
    page_size,
    place_after,
    record_response,
)

from . import queries, schema, transitions
from .access import get_prompt_for, prompts_for
from .errors import AlreadyResolved
from .models import Prompt

PROMPT_ID = "[A-Za-z0-9_-]{1,128}"
ID = id_parameter(PROMPT_ID, "The question's id.")
PAGE = OpenApiParameter(
    "Link",
    {"type": "string"},
    OpenApiParameter.HEADER,
    description='The page on which people see the question, as `<address>; rel="alternate"`.',
    response=[200, 201],
)
STATUSES = (*Prompt.Status.values, "no_answer")
STATUS = OpenApiParameter(
    "status",
    {"type": "string", "enum": list(STATUSES)},
    description="Only prompts shown with this status. `no_answer`: skipped, expired and cancelled alike.",
)


class AskView(ApiView):
    """`/ask`. With `?wait=` the wait door calls this and then holds the reply."""

    max_body_bytes = settings.MAX_ASK_BYTES
    scopes = {"POST": "ask"}

    @operation(
        "ask",
        "Ask a person",
        "Opens a prompt of 1 to 3 questions. All rules are checked at once and nothing is half-created. Repeat the "
        "call with the same `Idempotency-Key` or `id` and the same body to find the same prompt again, and to wait on.",
        request="Ask",
        ok={
            201: ("Prompt", "The prompt, opened."),
            200: ("Prompt", "The prompt that this key or id had opened before."),
        },
        errors=(403, 409),
        parameters=(IDEMPOTENCY_KEY, REPLAYED, PAGE),
        tag="Questions",
    )
    def post(self, request: Request) -> Response:
        """Opens a prompt."""
        agent = agent_of(request)
        key = idempotency_key(request)
        ask = checked(lambda: schema.parse_ask(request.data))
        prompt, created = transitions.open_prompt(
            agent=agent, ask=ask, body_digest=schema.body_digest(request.data), key=key
        )
        response = record_response(queries.record(prompt, for_agent=True), created=created, replayed=not created)
        page = settings.PUBLIC_URL + reverse("conversation", args=[prompt.conversation.uid])
        response["Link"] = f'<{page}>; rel="alternate"; type="text/html"'
        return response


class QuestionsView(ApiView):
    """`/questions`."""

    @operation(
        "listQuestions",
        "List prompts",
        "Newest first, as far as the caller may see: an agent its own, a person those they may answer.",
        ok={200: ("PromptList", "One page.")},
        errors=(422,),
        parameters=(STATUS, *PAGING),
        tag="Questions",
    )
    def get(self, request: Request) -> Response:
        """A page of prompts."""
        actor = actor_of(request)
        limit = page_size(request)
        at = clock.now()
        found = queries.listed(actor, status=status_asked(request), at=at)
        before = place_after(request)
        if before is not None:
            found = found.filter(pk__lt=place_of(actor, before))
        page = list(found[: limit + 1])
        more = page[limit - 1].uid if len(page) > limit else None
        records = [queries.record(prompt, for_agent=actor.is_agent, at=at) for prompt in page[:limit]]
        return Response({"questions": records, "next": next_page(request, more)})


class QuestionView(ApiView):
    """`/questions/{id}`."""

    @operation(
        "getQuestion",
        "Read a prompt",
        ok={200: ("Prompt", "The prompt as it stands.")},
        errors=(409,),
        parameters=(ID,),
        tag="Questions",
    )
    def get(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """One prompt."""
        actor = actor_of(request)
        return record_response(queries.record(get_prompt_for(actor, id), for_agent=actor.is_agent))


class AnswerView(ApiView):
    """`/questions/{id}/answer`, for persons."""

    @operation(
        "answerQuestion",
        "Answer a prompt",
        "Answers every question of the prompt at once. The first valid answer stands; others are told it "
        "(`already_resolved`). A repeat with the same `resolutionId` is told that its own answer stands.",
        request="Answer",
        ok={200: ("Prompt", "The prompt, answered by you.")},
        errors=(403, 409),
        parameters=(ID, REPLAYED),
        tag="Questions",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Answers a prompt as the person whose token it is."""
        actor = actor_of(request)
        prompt = get_prompt_for(actor, id, need="answer")
        assert actor.user is not None
        questions = list(prompt.questions.all())
        answers, receipt = checked(lambda: schema.parse_answer(questions, request.data))
        prompt, first = transitions.answer_prompt(
            prompt=prompt, user=actor.user, answers=answers, surface="api", resolution_id=receipt
        )
        return record_response(queries.record(prompt), replayed=not first)


class SkipView(ApiView):
    """`/questions/{id}/skip`, for persons."""

    @operation(
        "skipQuestion",
        "Skip a prompt",
        "Declines the whole prompt: its agent goes on with its best judgment.",
        request="Skip",
        ok={200: ("Prompt", "The prompt, skipped by you.")},
        errors=(403, 409),
        parameters=(ID, REPLAYED),
        tag="Questions",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Declines a prompt as the person whose token it is."""
        actor = actor_of(request)
        prompt = get_prompt_for(actor, id, need="answer")
        assert actor.user is not None
        receipt = checked(lambda: schema.parse_skip(request.data))
        prompt, first = transitions.skip_prompt(prompt=prompt, user=actor.user, surface="api", resolution_id=receipt)
        return record_response(queries.record(prompt), replayed=not first)


class CancelView(ApiView):
    """`/questions/{id}/cancel`, for the agent that asked."""

    @operation(
        "withdrawQuestion",
        "Withdraw a prompt",
        "The agent takes its question back. A repeat finds it withdrawn.",
        request="Empty",
        ok={200: ("Prompt", "The prompt, withdrawn.")},
        errors=(403, 409),
        parameters=(ID,),
        tag="Questions",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Withdraws one of the agent's prompts."""
        prompt = get_prompt_for(actor_of(request), id, need="withdraw")
        no_fields(request.data)
        try:
            prompt = transitions.withdraw_prompt(prompt=prompt, agent=prompt.agent, surface="api")
        except AlreadyResolved as lost:
            # Agents see every end without an answer alike (design section 1).
            raise AlreadyResolved(lost.prompt, {"question": queries.record(lost.prompt, for_agent=True)}) from lost
        return record_response(queries.record(prompt, for_agent=True))


def status_asked(request: Request) -> str:
    """`?status=`, empty when it is missing. Raises InvalidInput for one that does not exist."""
    check = Check()
    status = check.one_of(request.query_params, "", "status", STATUSES)
    checked(check.done)
    return status or ""


def place_of(actor: Actor, before: str) -> int:
    """The place in the list of a prompt that the caller may see. Raises NotFound."""
    place = prompts_for(actor).filter(uid=before).values_list("pk", flat=True).first()
    if place is None:
        raise NotFound
    return place
