"""What stands before every personal view: is it still the same person, and what to say when not.

Nothing typed is ever lost on the way (bugs case 72): a form that cannot be taken is shown again, readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from controlui.chat.models import User
from controlui.errors import ControlUIError, Unavailable, is_database_trouble

from .forms import TEXT, typed

P = ParamSpec("P")
# What a form's address has beyond its conversation's page.
FORM_OF_A_PLACE = re.compile(r"(?<=/)(dock|draft|messages|composer-draft|deliveries/[^/]+)$")
# Sentences of errors that a person may read; `refused` and the sign-in pages translate them.
READ_BY_PEOPLE = (
    gettext_noop("There is no such thing here, or it is not for you."),
    gettext_noop("There is no question with this id, or it is not for you."),
    gettext_noop("You may read this conversation, but not write in it."),
    gettext_noop("The server is busy for a moment. Nothing was changed; try again shortly."),
    gettext_noop("This sign-in link is not known."),
    gettext_noop("This sign-in link was used already. Ask for a new one."),
    gettext_noop("This sign-in link has expired. Ask for a new one."),
)


class AnyRequest(HttpRequest):
    """A request as the middleware leaves it."""

    user: User | AnonymousUser
    htmx: HtmxDetails


class PersonRequest(AnyRequest):
    """A request of somebody who is signed in."""

    user: User


View = Callable[Concatenate[PersonRequest, P], HttpResponse]


def personal(*methods: str, fragment: bool = False) -> Callable[[View[P]], Callable[..., HttpResponse]]:
    """Guards a view: the methods it takes, a person who is signed in, and that they are whom the form was drawn for.

    `fragment`: scripts fetch it, so a signed-out caller gets a status, not the way to the sign-in page.
    Responses are never stored: another person may sign in on this browser (bugs case 35).
    """

    def guard(view: View[P]) -> Callable[..., HttpResponse]:
        @require_http_methods(list(methods))
        @wraps(view)
        def guarded(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            # Who is signed in is asked of the database, which may be what is in trouble.
            response = answered(request, lambda: admitted(request, *args, **kwargs))
            response["Cache-Control"] = "no-store, private"
            return response

        def admitted(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            signed_in = request.user.is_authenticated
            if not signed_in and request.method != "POST" and not fragment:
                return HttpResponseRedirect(sign_in_address(request.get_full_path()))
            if not signed_in or drawn_for_another(request):
                return session_changed(request)
            return view(request, *args, **kwargs)

        return guarded

    return guard


def honest(view: Callable[Concatenate[Any, P], HttpResponse]) -> Callable[..., HttpResponse]:
    """Guards a view that anybody may call: trouble with the database is a page that says so."""

    @wraps(view)
    def guarded(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        return answered(request, lambda: view(request, *args, **kwargs))

    return guarded


def answered(request: AnyRequest, call: Callable[[], HttpResponse]) -> HttpResponse:
    """The view's response, or an honest one for what it raises."""
    try:
        return call()
    except ControlUIError as error:
        return refused(request, error)
    except Exception as error:
        if not is_database_trouble(error):
            raise
        # Nothing was done; what was typed is kept on the page, ready to be sent again (bugs case 105).
        return refused(request, Unavailable(), resend=request.method == "POST")


def drawn_for_another(request: AnyRequest) -> bool:
    """Whether the page was drawn for somebody who is no longer the one signed in."""
    data = request.POST if request.method == "POST" else request.GET
    return "as" in data and data["as"] != request.user.get_username()


def sign_in_address(back_to: str) -> str:
    """The sign-in page, with the way back."""
    return f"{reverse('sign-in')}?{urlencode({'next': back_to})}"


def wants_json(request: HttpRequest) -> bool:
    """Whether a script of ours asks, that reads codes."""
    return request.headers.get("Accept", "").startswith("application/json")


def session_changed(request: Any, reason: str = "") -> HttpResponse:
    """For a form of another session: signed out, another person, or a token that was renewed meanwhile.

    Also Django's CSRF failure view. The same person gets the form again, whole, with one button; anybody else
    reads what was typed and finds the way to sign in. Nothing is saved here.
    """
    get_token(request)  # sets the cookie anew where it was deleted
    if not request.user.is_authenticated:
        status, code, words = 401, "signed_out", _("You are signed out. What you typed is below; it was not sent.")
    elif drawn_for_another(request):
        status, code = 403, "other_person"
        words = _("Another person has signed in on this browser. What was typed is below; it was not sent.")
    else:
        status, code, words = (
            403,
            "session_renewed",
            _("Your session changed. Nothing was sent yet, and nothing is lost."),
        )
    if request.method != "POST" or wants_json(request) or request.htmx:
        response: HttpResponse = JsonResponse({"code": code, "message": words, "details": []}, status=status)
        response["HX-Reswap"] = "none"
        return response
    title = _("Your session changed")
    return kept(
        request,
        request.POST,
        status=status,
        title=title,
        words=words,
        resend=code == "session_renewed",
        sign_in=code != "session_renewed",
    )


def refused(
    request: AnyRequest, error: ControlUIError, *, resend: bool = False, data: QueryDict | None = None
) -> HttpResponse:
    """An error as a page, or in the form that the script that asks can read. What was typed stays readable.

    `data`: the form, where Django did not read it. Nothing here asks the database, which may be what is in trouble.
    """
    data = request.POST if data is None else data
    if wants_json(request):
        response: HttpResponse = JsonResponse(error.body(), status=error.status)
    elif request.headers.get("HX-Request"):
        response = HttpResponse(_(error.message), status=error.status, content_type="text/plain; charset=utf-8")
        response["HX-Reswap"] = "none"
    elif request.method == "POST" and typed_texts(data):
        title, words = _("This was not sent"), _(error.message)
        response = kept(request, data, status=error.status, title=title, words=words, resend=resend)
    else:
        template = {403: "403.html", 404: "404.html"}.get(error.status, "pages/refused.html")
        response = render(request, template, {"words": _(error.message)}, status=error.status)
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def typed_texts(data: QueryDict) -> list[str]:
    """Everything in a form that a person has typed."""
    names = [name for name in data if name == "text" or name.startswith(TEXT)]
    return [text for name in names for text in map(typed, data.getlist(name)) if text.strip()]


def kept(
    request: AnyRequest,
    data: QueryDict,
    *,
    status: int,
    title: str,
    words: str,
    resend: bool = False,
    sign_in: bool = False,
) -> HttpResponse:
    """A page that shows what was typed, and sends the form again as it was."""
    back_to = FORM_OF_A_PLACE.sub("", request.path)
    context = {
        "title": title,
        "words": words,
        "texts": typed_texts(data),
        "resend": resend,
        "fields": [
            (name, typed(value)) for name, values in data.lists() for value in values if name != "csrfmiddlewaretoken"
        ],
        "back_to": back_to,
        "sign_in": sign_in_address(back_to) if sign_in else "",
    }
    response = render(request, "pages/kept.html", context, status=status)
    response["Cache-Control"] = "no-store, private"
    return response
