"""The one shape of an error on the wire, whoever raised it: ours, DRF's, Django's or the database's."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from controlui.errors import ControlUIError, Forbidden, NotFound, Unavailable, is_database_trouble

log = logging.getLogger(__name__)

# DRF's own errors, by their class: our stable code for each.
CODES: list[tuple[type[exceptions.APIException], str]] = [
    (exceptions.NotAuthenticated, "not_authenticated"),
    (exceptions.AuthenticationFailed, "not_authenticated"),
    (exceptions.PermissionDenied, "forbidden"),
    (exceptions.NotFound, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.NotAcceptable, "not_acceptable"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "too_many_requests"),
    (exceptions.ParseError, "malformed_json"),
]


class Broken(ControlUIError):
    """A fault of ours. It is logged; the caller learns only that."""

    status = 500
    code = "server_error"
    message = "Something went wrong on the server. It has been noted."


def as_response(error: Exception, context: dict[str, Any]) -> Response:
    """Any error of an API view as `{code, message, details}` (DRF's exception handler)."""
    if isinstance(error, exceptions.APIException):
        return of_framework(error)
    ours = as_ours(error)
    headers = {} if ours.retry_after is None else {"Retry-After": str(ours.retry_after)}
    return Response(ours.body(), status=ours.status, headers=headers)


def as_ours(error: Exception) -> ControlUIError:
    """The error of ours that says what another error means."""
    if isinstance(error, ControlUIError):
        return error
    if isinstance(error, Http404):
        return NotFound()
    if isinstance(error, PermissionDenied):
        return Forbidden()
    if is_database_trouble(error):
        return Unavailable()
    log.error("api_failed", exc_info=error)
    return Broken()


def of_framework(error: exceptions.APIException) -> Response:
    """One of DRF's errors in our shape, with the headers its status asks for."""
    code = next((code for kind, code in CODES if isinstance(error, kind)), "error")
    headers: dict[str, str] = {}
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    wait = getattr(error, "wait", None)
    if wait:
        headers["Retry-After"] = str(int(wait) + 1)
    body = ControlUIError(str(error.detail), code=code).body()
    return Response(body, status=error.status_code, headers=headers)
