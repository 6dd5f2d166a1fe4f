"""Pages for what Django refuses or breaks on its own; programs get the API's error shape."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from controlui.errors import ControlUIError, Forbidden, NotFound


def for_programs(request: HttpRequest, error: ControlUIError) -> HttpResponse | None:
    """The API's answer, if the request is for the API."""
    return JsonResponse(error.body(), status=error.status) if request.path.startswith("/api/") else None


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """404: unknown, or not for this person."""
    return for_programs(request, NotFound()) or render(request, "404.html", status=404)


def forbidden(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """403."""
    return for_programs(request, Forbidden()) or render(request, "403.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, drawn without the database, which may be what broke."""
    broken = ControlUIError("Something went wrong here. It was written down.", code="server_error")
    broken.status = 500
    return for_programs(request, broken) or HttpResponse(render_to_string("500.html"), status=500)
