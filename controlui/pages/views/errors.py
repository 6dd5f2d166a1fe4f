"""Pages for what Django refuses or breaks on its own; programs get the API's error shape."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import parse_qsl

from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string

from controlui.errors import ControlUIError, Forbidden, NotFound, Unavailable, is_database_trouble
from controlui.pages.errors import BadHost, BadRequest, FormTooLarge
from controlui.pages.guard import refused

# As much as the server keeps of any body.
BODY_MAX = 1024 * 1024


def for_programs(request: HttpRequest, error: ControlUIError) -> HttpResponse | None:
    """The API's answer, if the request is for the API."""
    if not request.path.startswith("/api/"):
        return None
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JsonResponse(error.body(), status=error.status, headers=headers)


def bad_request(request: Any, exception: Any = None) -> HttpResponse:
    """400: what Django does not even read. A form over its limits is 413, with everything typed."""
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        error: ControlUIError = FormTooLarge()
    else:
        error = BadHost() if isinstance(exception, DisallowedHost) else BadRequest()
    data = fields_of(request) if error.status == 413 else QueryDict()
    return for_programs(request, error) or refused(request, error, data=data)


def fields_of(request: HttpRequest) -> QueryDict:
    """The fields of a form over Django's limits. Our forms are all of this one kind."""
    fields = QueryDict(mutable=True)
    if request.content_type == "application/x-www-form-urlencoded":
        try:
            body = request.body
        except RequestDataTooBig:
            body = request.read(BODY_MAX)
        for name, value in parse_qsl(body.decode(errors="replace"), keep_blank_values=True):
            fields.appendlist(name, value)
    return fields


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """404: unknown, or not for this person."""
    return for_programs(request, NotFound()) or render(request, "404.html", status=404)


def forbidden(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """403."""
    return for_programs(request, Forbidden()) or render(request, "403.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, drawn without the database, which may be what broke: then it is a 503."""
    trouble = sys.exc_info()[1]
    if trouble is not None and is_database_trouble(trouble):
        return for_programs(request, Unavailable()) or refused(request, Unavailable())  # type: ignore[arg-type]
    broken = ControlUIError("Something went wrong here. It was written down.", code="server_error")
    broken.status = 500
    return for_programs(request, broken) or HttpResponse(render_to_string("500.html"), status=500)
