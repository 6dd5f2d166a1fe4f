"""The REST doors for runs, sessions and messages: access, schema, one transition, a record. No rules here."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from controlui.errors import Forbidden, NotFound
from controlui.rest.docs import IDEMPOTENCY_KEY, PAGING, REPLAYED, SESSION_KEY, id_parameter, operation
from controlui.rest.shape import CONTROL, UNSTORABLE
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
from .access import Actor, get_session_for
from .models import Agent

RUN_ID = id_parameter(schema.RUN_ID, "The run's id.")


def actor_of(request: Request) -> Actor:
    """Who calls."""
    actor: Any = request.user
    assert isinstance(actor, Actor)
    return actor


def agent_of(request: Request) -> Agent:
    """The agent that calls. Raises Forbidden for a person's token."""
    agent = actor_of(request).agent
    if agent is None:
        raise Forbidden("Only an agent's token may do this; yours is a person's.", code="agents_only")
    return agent


def session_key(key: str) -> str:
    """The sessionKey in a path. Raises NotFound for one that cannot exist."""
    key = key.strip()
    if not key or len(key) > schema.SESSION_KEY_MAX or CONTROL.search(key) or UNSTORABLE.search(key):
        raise NotFound
    return key


class RunsView(ApiView):
    """`/runs`."""

    @operation(
        "openRun",
        "Open a run",
        "Opens a run, and its conversation if that is new. A run acts for the author of the trigger message, else "
        "for the agent's owner. `recoveryOf` first ends that run as aborted; what it was asking moves to this one.",
        request="RunStart",
        ok={201: ("Run", "The run, opened."), 200: ("Run", "The run that this id had opened before.")},
        errors=(403, 409),
        parameters=(REPLAYED,),
        tag="Runs",
    )
    def post(self, request: Request) -> Response:
        """Opens a run."""
        agent = agent_of(request)
        start = checked(lambda: schema.parse_run(request.data))
        run, created = transitions.open_run(
            agent=agent,
            session_key=start.session_key,
            kind=start.kind,
            client_id=start.client_id,
            trigger_message_id=start.trigger_message_id,
            deadline_seconds=start.deadline_seconds,
            recovery_of=start.recovery_of,
        )
        return record_response(queries.run_record(run), created=created, replayed=not created)


class RunView(ApiView):
    """`/runs/{id}`."""

    @operation("getRun", "Read a run", ok={200: ("Run", "The run.")}, errors=(403,), parameters=(RUN_ID,), tag="Runs")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """One of the agent's runs."""
        agent_of(request)
        return record_response(queries.run_record(queries.get_run(actor_of(request), id)))


class FinishView(ApiView):
    """`/runs/{id}/finish`."""

    @operation(
        "finishRun",
        "End a run",
        "Ends the run; its pending blocking prompts are cancelled. A repeat of the same end is told that it stands.",
        request="RunFinish",
        ok={200: ("Run", "The run, ended.")},
        errors=(403, 409),
        parameters=(RUN_ID,),
        tag="Runs",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Ends one of the agent's runs."""
        agent = agent_of(request)
        status = checked(lambda: schema.parse_finish(request.data))
        run = transitions.finish_run(actor_agent=agent, client_id=id, status=status)
        return record_response(queries.run_record(run))


class SessionView(ApiView):
    """`/sessions/{key}`."""

    @operation(
        "getSession",
        "Read a session",
        "The address of its page, who is in it, its state.",
        ok={200: ("Session", "The session.")},
        parameters=(SESSION_KEY,),
        tag="Sessions",
    )
    def get(self, request: Request, key: str) -> Response:
        """One conversation."""
        actor = actor_of(request)
        conversation = get_session_for(actor, session_key(key))
        return record_response(queries.conversation_record(actor, conversation))


class MessagesView(ApiView):
    """`/sessions/{key}/messages`."""

    @operation(
        "listMessages",
        "Read saved history",
        "Newest first.",
        ok={200: ("MessageList", "One page.")},
        errors=(422,),
        parameters=(SESSION_KEY, *PAGING),
        tag="Sessions",
    )
    def get(self, request: Request, key: str) -> Response:
        """A page of a conversation's messages, as far as the caller may see."""
        actor = actor_of(request)
        limit = page_size(request)
        conversation = get_session_for(actor, session_key(key))
        found, before = queries.messages_page(actor, conversation, before=place_after(request), limit=limit)
        records = [message.as_record() for message in found]
        return Response({"messages": records, "next": next_page(request, before)})

    @operation(
        "say",
        "Say something",
        "Saves what the agent says, and makes the session if it is new. The text is Markdown and is kept as it is.",
        request="MessageText",
        ok={201: ("Message", "The message, saved."), 200: ("Message", "The message that this key had saved before.")},
        errors=(403, 409),
        parameters=(SESSION_KEY, IDEMPOTENCY_KEY, REPLAYED),
        tag="Sessions",
    )
    def post(self, request: Request, key: str) -> Response:
        """Saves a message of the agent's."""
        agent = agent_of(request)
        saying = checked(lambda: schema.parse_saying(request.data))
        message, created = transitions.say(
            agent=agent,
            session_key=key,
            text=saying.text,
            kind=saying.kind,
            run_id=saying.run_id,
            key=idempotency_key(request),
        )
        return record_response(message.as_record(), created=created, replayed=not created)


class ResetView(ApiView):
    """`/sessions/{key}/reset`."""

    @operation(
        "resetSession",
        "Start a session anew",
        "A new generation: running runs end as aborted, whatever is pending is cancelled. History stays.",
        request="Empty",
        ok={200: ("Session", "The session, in its new generation.")},
        errors=(403,),
        parameters=(SESSION_KEY,),
        tag="Sessions",
    )
    def post(self, request: Request, key: str) -> Response:
        """Starts a new generation of one of the agent's conversations."""
        agent_of(request)
        no_fields(request.data)
        actor = actor_of(request)
        conversation = transitions.reset_conversation(conversation=get_session_for(actor, session_key(key)))
        return record_response(queries.conversation_record(actor, conversation))
