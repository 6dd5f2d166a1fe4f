"""Starting a conversation: an agent, and the first message to it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from controlui.chat import access
from controlui.chat.access import Actor
from controlui.chat.errors import KeyReused
from controlui.chat.ids import new_uid
from controlui.chat.models import Agent
from controlui.chat.transitions import start_conversation
from controlui.errors import InvalidInput
from controlui.pages.forms import mark, typed
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import list_items
from controlui.pages.views.messages import words_of
from outbox.transitions import enqueue
from questions.queries import waiting_counts

SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class StartForm:
    """The form as it is drawn. `errors` by the name of the field."""

    key: str
    agent: str
    text: str
    errors: dict[str, str]


@personal("GET", "HEAD", "POST")
def start(request: PersonRequest) -> HttpResponse:
    """The form; sent, a conversation that the person created, with their first message on its way."""
    agents = list(access.agents_for(Actor(user=request.user)).order_by("name"))
    if request.method != "POST":
        only = agents[0].name if len(agents) == 1 else ""
        return form_page(request, agents, StartForm(new_uid(), only, "", {}))
    key, name = mark(request.POST, "key", 200) or new_uid(), mark(request.POST, "agent", 100)
    text = typed(request.POST.get("text", ""))
    # One that is not theirs to talk to looks like none at all (design rule 8).
    agent = next((agent for agent in agents if agent.name == name), None)
    if agent is None:
        errors = {"agent": _("Choose an agent.")}
        return form_page(request, agents, StartForm(key, "", text, errors), status=422)
    try:
        # Both or nothing: a conversation in which nothing was said would only be in the way.
        with transaction.atomic():
            conversation = start_conversation(agent=agent, user=request.user, key=key)
            enqueue(conversation=conversation, author=request.user, text=text, key=key)
    except InvalidInput as refused:
        return form_page(request, agents, StartForm(key, name, text, {"text": words_of(refused)}), status=422)
    except KeyReused as reused:
        sent = _("This message was sent before you changed it. Send again to send the changed text.")
        return form_page(request, agents, StartForm(new_uid(), name, text, {"text": sent}), status=reused.status)
    return HttpResponseRedirect(reverse("conversation", args=[conversation.uid]), status=SEE_OTHER)


def form_page(request: PersonRequest, agents: list[Agent], form: StartForm, *, status: int = 200) -> HttpResponse:
    """The page with the form in it."""
    actor = Actor(user=request.user)
    waiting = waiting_counts(actor)
    context = {"items": list_items(actor, None, waiting), "waiting": sum(waiting.values())}
    return render(request, "pages/start.html", context | {"agents": agents, "form": form}, status=status)
