"""What a person writes: messages, and the text they have not sent yet."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from controlui.chat import clock
from controlui.chat.alternates import SavedDraft
from controlui.chat.errors import KeyReused, TooManyVersions
from controlui.chat.ids import new_uid
from controlui.chat.transitions import (
    clear_composer_draft,
    drop_composer_alternate,
    save_composer_draft,
    use_composer_alternate,
)
from controlui.errors import InvalidInput, NotFound
from controlui.pages.forms import TabSave, mark, typed
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import Place, composer_html, full_page, moved, outbox_html, partial, place_of
from outbox.models import Delivery
from outbox.transitions import enqueue
from questions import access, queries

SEE_OTHER = 303


@personal("GET", "POST")
def messages(request: PersonRequest, uid: str) -> HttpResponse:
    """Sends the composer's text, or what was typed for a prompt that ended otherwise (`leftover`)."""
    if request.method == "GET":
        return redirect("conversation", uid)
    place = place_of(request, uid, need="write")
    action = request.POST.get("action")
    if action == "check":
        # htmx sends every button of the composer here, whatever its own address.
        return checked(place)
    if action in {"use-alternate", "keep-mine"}:
        return resolved(place, swap=action == "use-alternate")
    if leftover := request.POST.get("leftover"):
        send_leftover(place, leftover[:64])
        return sent(place)
    text, key = typed(request.POST.get("text", "")), mark(request.POST, "key", 200) or new_uid()
    try:
        delivery, _created = enqueue(conversation=place.conversation, author=request.user, text=text, key=key)
    except InvalidInput as refused:
        return again(place, text, words_of(refused), refused.status)
    except KeyReused as reused:
        return again(
            place,
            text,
            _("This message was sent before you changed it. Send again to send the changed text."),
            reused.status,
        )
    save = TabSave.read(request.POST)
    clear_composer_draft(
        conversation=place.conversation,
        user=request.user,
        text=text,
        tab=save.tab,
        tab_seq=save.tab_seq,
        revision=save.revision,
    )
    return sent(place, delivery)


def send_leftover(place: Place, prompt_uid: str) -> None:
    """Sends what this person had typed for an ended prompt, once however often it is pressed."""
    prompt = access.get_prompt_for(place.actor, prompt_uid)
    user = place.request.user
    draft = queries.drafts_of([prompt], user).get(prompt.pk)
    text = queries.summary(prompt, user, draft, clock.now()).leftover_text
    if prompt.conversation_id != place.conversation.pk or not text:
        raise NotFound
    enqueue(
        conversation=place.conversation,
        author=user,
        text=text,
        key=f"leftover-{prompt.uid}-{user.pk}",
        reply_to=prompt.message,
    )


def sent(place: Place, delivery: Delivery | None = None) -> HttpResponse:
    """Back to the page; for htmx what is on its way, and an empty composer."""
    if not place.request.htmx:
        return HttpResponseRedirect(f"{place.address}#dock", status=SEE_OTHER)
    html = composer_html(place, text="") if delivery is not None else ""
    return HttpResponse(html + partial("#outbox", "outerMorph", outbox_html(place)))


def again(place: Place, text: str, error: str, status: int) -> HttpResponse:
    """The composer with its text and what is wrong with it."""
    shown = {"text": text, "revision": TabSave.read(place.request.POST).revision, "error": error}
    if place.request.htmx:
        return HttpResponse(composer_html(place, **shown), status=status)
    return full_page(moved(place, place.view), status=status, composer_with=shown)


def words_of(refused: InvalidInput) -> str:
    """What is wrong with a message, in the person's language."""
    fault = refused.details[0]
    if fault["rule"] == "blank":
        return _("Write something first.")
    if fault["rule"] == "length":
        return _("A message has at most %(limit)s characters. Shorten it, then send again.") % {
            "limit": f"{fault['limit']:,}"
        }
    return _("This message has characters that cannot be sent. Remove them, then send again.")


@personal("POST", fragment=True)
def composer_draft(request: PersonRequest, uid: str) -> HttpResponse:
    """Keeps the composer's text. Pressed as "Check for new questions", it also draws the page anew."""
    place = place_of(request, uid, need="write")
    if request.POST.get("action") == "check":
        return checked(place)
    saved = keep_text(place)
    return JsonResponse({"revision": saved.revision, "stored": saved.stored})


def keep_text(place: Place, *, take_over: bool = False) -> SavedDraft:
    """Saves the composer's text as it stands in the form."""
    data = place.request.POST
    save = TabSave.read(data)
    return save_composer_draft(
        conversation=place.conversation,
        user=place.request.user,
        text=typed(data.get("text", "")),
        tab=save.tab,
        tab_seq=save.tab_seq,
        revision=save.revision,
        take_over=take_over,
    )


def resolved(place: Place, *, swap: bool) -> HttpResponse:
    """One press on the notice "Also edited elsewhere"."""
    conversation, user = place.conversation, place.request.user
    try:
        keep_text(place, take_over=True)
    except TooManyVersions:
        if swap:
            raise
        drop_composer_alternate(conversation=conversation, user=user)
        keep_text(place, take_over=True)
    else:
        (use_composer_alternate if swap else drop_composer_alternate)(conversation=conversation, user=user)
    if place.request.htmx:
        return HttpResponse(composer_html(place))
    return HttpResponseRedirect(f"{place.address}#composer", status=SEE_OTHER)


def checked(place: Place) -> HttpResponse:
    """The page anew, with the text kept."""
    keep_text(place, take_over=True)
    if place.request.htmx:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return HttpResponseRedirect(place.address, status=SEE_OTHER)
