"""The product's addresses, and an empty view and one tiny write beside them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from controlui.chat.models import User


def empty(_request: HttpRequest) -> HttpResponse:
    """Nothing but the way there and back, through the same server and middleware."""
    return HttpResponse(b"ok")


@csrf_exempt
def write(_request: HttpRequest) -> HttpResponse:
    """One UPDATE of one row, in a transaction of its own."""
    User.objects.filter(pk=1).update(last_login=timezone.now())
    return HttpResponse(b"ok")


urlpatterns = [
    path("bench/empty", empty),
    path("bench/write", write),
    path("", include("controlui.urls")),
]

handler404 = "controlui.pages.views.errors.not_found"
handler403 = "controlui.pages.views.errors.forbidden"
handler500 = "controlui.pages.views.errors.server_error"
