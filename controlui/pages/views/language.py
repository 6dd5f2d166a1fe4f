"""The language of the pages, kept in a cookie."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST

from .sign_in import own_path

SEE_OTHER = 303
YEAR = 365 * 24 * 3600


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Switches the language and goes back to where the person was."""
    response = HttpResponseRedirect(own_path(request.POST.get("next", "")), status=SEE_OTHER)
    code = request.POST.get("language", "")
    if code in dict(settings.LANGUAGES) and check_for_language(code):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME, code, max_age=YEAR, samesite="Lax", secure=request.is_secure()
        )
    return response
