"""The buttons of a message on its way: Retry, Discard, Edit."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from controlui.chat.models import Message
from controlui.chat.queries import rows_for
from controlui.errors import InvalidInput, NotFound
from controlui.pages.answering import undo_of
from controlui.pages.forms import typed
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import (
    Place,
    composer_draft,
    composer_html,
    dock_html,
    full_page,
    moved,
    outbox_html,
    partial,
    place_of,
    rows_html,
    writes,
)
from outbox import transitions
from outbox.access import get_delivery_for
from outbox.errors import NotNow, SentBefore
from outbox.models import Delivery
from questions.models import Prompt
from questions.queries import DockView

from .messages import words_of

SEE_OTHER = 303
NEEDS = {"retry": "steer", "discard": "steer", "edit": "edit"}


@personal("GET", "POST")
def delivery(request: PersonRequest, uid: str, delivery_uid: str) -> HttpResponse:
    """One press. Of two at once the row decides, and each is told how it stands."""
    if request.method == "GET":
        return redirect("conversation", uid)
    place = place_of(request, uid)
    action = request.POST.get("action", "")
    found = get_delivery_for(place.actor, delivery_uid, need=NEEDS.get(action, "view"))
    if found.conversation_id != place.conversation.pk or action not in NEEDS:
        raise NotFound
    status, words, text = 200, "", typed(request.POST.get("text", ""))
    try:
        found = press(found, action, text)
    except NotNow as late:
        status, words = late.status, sentence(late.delivery)
    except SentBefore as refused:
        status, words = refused.status, _(refused.message)
    except InvalidInput as refused:
        status, words = refused.status, words_of(refused)
    return drawn(place, found, action, status, words, text if action == "edit" else "")


def press(found: Delivery, action: str, text: str) -> Delivery:
    """The one transition of a button."""
    if action == "retry":
        return transitions.retry(delivery=found)
    if action == "discard":
        return transitions.discard(delivery=found)
    return transitions.edit(delivery=found, text=text)


def sentence(found: Delivery) -> str:
    """Why a press came too late."""
    words = {
        Delivery.Status.SENDING: _("This message is being sent right now. Nothing was changed."),
        Delivery.Status.CONFIRMED: _("This message was accepted meanwhile. Nothing was changed."),
        Delivery.Status.DISCARDED: _("This message was discarded meanwhile. Nothing was changed."),
    }
    return words.get(Delivery.Status(found.status), _("This message has changed meanwhile. Nothing was changed."))


def drawn(place: Place, found: Delivery, action: str, status: int, words: str, text: str) -> HttpResponse:
    """The page as it stands now; for htmx its parts that this press may have changed.

    `text`: a change that was not taken, which is an unsent text.
    """
    prompt = Prompt.objects.filter(uid=found.about).first() if found.about else None
    back = action == "discard" and status == 200 and prompt is not None and prompt.status == Prompt.Status.PENDING
    place = moved(place, DockView(prompt=prompt.uid) if back and prompt is not None else place.view)
    if not place.request.htmx:
        if status != 200:
            composer_with = {"text": text} if text.strip() and writes(place) else None
            return full_page(place, status=status, notice=words, composer_with=composer_with)
        return HttpResponseRedirect(f"{place.address}#{'dock' if back else 'outbox'}", status=SEE_OTHER)
    html = str(outbox_html(place))
    if prompt is not None:
        message = Message.objects.select_related("author", "run", "stream").get(pk=prompt.message_id)
        html += partial("#timeline", "place", rows_html(place, rows_for([message])))
    if prompt is not None or words:
        html += partial("#dock", "outerMorph", dock_html(place, notice=words, undo=undo_of(place, place.request.POST)))
    if action == "discard" and status == 200 and prompt is None and writes(place) and composer_draft(place) is not None:
        html += partial("#composer", "outerMorph", composer_html(place))
    response = HttpResponse(html, status=status)
    response["HX-Replace-Url"] = place.address
    return response
