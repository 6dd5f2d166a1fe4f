"""The API's description for programs (`/api/schema`) and for people (`/api/docs`); and what is not there."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from controlui.errors import NotFound

from . import openapi, reading


@require_safe
@cache_control(public=True, max_age=300)
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document."""
    return JsonResponse(openapi.description(), json_dumps_params={"ensure_ascii": False})


@require_safe
@cache_control(public=True, max_age=300)
def docs_page(request: HttpRequest) -> HttpResponse:
    """The same, to read: plain HTML, no script, one style sheet of our own."""
    return render(request, "api/docs.html", {"api": reading.read(openapi.description())})


@require_safe
@cache_control(public=True, max_age=300)
def docs_style(request: HttpRequest) -> HttpResponse:
    """The style sheet of the readable page; it belongs to no bundle, so that the page costs the product nothing."""
    return render(request, "api/docs.css", content_type="text/css; charset=utf-8")


@csrf_exempt
def nothing(request: HttpRequest) -> HttpResponse:
    """An address that the API does not have, in the one error shape."""
    error = NotFound("The API has no such address. See /api/docs.")
    return JsonResponse(error.body(), status=error.status, headers={"Cache-Control": "no-store"})
