"""Coming in by a one-time link, going out, and forms that come from another session."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlui.chat import clock
from controlui.chat.transitions import find_sign_in_link, spend_sign_in_link
from controlui.errors import Conflict, ControlUIError, NotFound
from controlui.live.publish import close_sockets
from controlui.pages import guard

SEE_OTHER = 303
NEXT_COOKIE = "controlui_next"
# A longer address, cut, would be another one: then the start page it is.
NEXT_MAX = 2000
BACKEND = "django.contrib.auth.backends.ModelBackend"


def own_path(address: str) -> str:
    """The address if it is a path of this site, else the start page: never a way out to another. In ASCII, since
    cookies and headers carry nothing else."""
    inside = address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return iri_to_uri(address) if inside else reverse("home")


@never_cache
@require_safe
@guard.honest
def sign_in(request: HttpRequest) -> HttpResponse:
    """Says how to sign in, and remembers where the person was going."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(own_path(request.GET.get("next", "")))
    response = render(request, "pages/sign_in.html", {"signed_out": "signed-out" in request.GET})
    going = own_path(request.GET.get("next", ""))
    if "next" in request.GET and len(going) <= NEXT_MAX:
        response.set_cookie(
            NEXT_COOKIE, going, max_age=3600, path=reverse("sign-in"), httponly=True, samesite="Lax",
            secure=request.is_secure(),
        )  # fmt: skip
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@guard.honest
def link(request: HttpRequest, token: str) -> HttpResponse:
    """A sign-in link. Looking at it spends nothing: previews and HEAD only see a button (design section 7)."""
    try:
        if request.method != "POST":
            check_link(token)
            return render(request, "pages/sign_in_link.html")
        user = spend_sign_in_link(raw=token)
    except ControlUIError as error:
        return render(request, "pages/sign_in_link.html", {"error": _(error.message)}, status=error.status)
    login(request, user, backend=BACKEND)
    response = HttpResponseRedirect(own_path(request.COOKIES.get(NEXT_COOKIE, "")), status=SEE_OTHER)
    response.delete_cookie(NEXT_COOKIE, path=reverse("sign-in"))
    return response


def check_link(token: str) -> None:
    """Raises what pressing the button would raise."""
    found = find_sign_in_link(token)
    if found is None or not found.user.is_active:
        raise NotFound("This sign-in link is not known.", code="link_unknown")
    if found.used_at is not None:
        raise Conflict("This sign-in link was used already. Ask for a new one.", code="link_used")
    if found.expires_at <= clock.now():
        raise Conflict("This sign-in link has expired. Ask for a new one.", code="link_expired")


@never_cache
@require_POST
@guard.honest
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends the session and closes the person's sockets; other tabs learn of it at once."""
    user_id = request.user.pk
    logout(request)
    if user_id is not None:
        close_sockets(user_id)
    return HttpResponseRedirect(f"{reverse('sign-in')}?signed-out", status=SEE_OTHER)


@guard.honest
def session_changed(request: Any, reason: str = "") -> HttpResponse:
    """Django's CSRF failure view. A form about signing in or language carries nothing: it is drawn anew."""
    if request.path.startswith(reverse("sign-in")):
        return HttpResponseRedirect(request.path, status=SEE_OTHER)
    if request.path == reverse("language"):
        return HttpResponseRedirect(own_path(request.POST.get("next", "")), status=SEE_OTHER)
    return guard.session_changed(request, reason)
