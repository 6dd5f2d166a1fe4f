"""The root of every error that a person or an agent may be told of, and their honest rendering.

ControlUIError
├── InvalidInput            422  every fault of an input at once (`details`)
├── NotFound                404  unknown and forbidden look alike (design rule 8)
├── Forbidden               403  known to exist, never allowed (an agent that answers)
├── Conflict                409  the state of things speaks against it
│   └── (questions.errors.AlreadyResolved)
├── (controlui.pages.errors)  400, 413  what Django refuses before a view of ours sees it
├── TooMany                 429  a limit, with Retry-After
└── Unavailable             503  the database is locked or gone; nothing was done
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

Detail = dict[str, Any]


class ControlUIError(Exception):
    """An error with a stable `code`, an HTTP `status`, a sentence, and faults by JSON path.

    `details` is a list of `{"path", "rule", ...}`; `extra` is merged into the API's body (the winner's
    outcome of a 409, say).
    """

    status = 400
    code = "error"
    message = "Something is wrong with this request."

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        details: list[Detail] | None = None,
        extra: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.message = message or self.message
        self.code = code or self.code
        self.details = details or []
        self.extra = extra or {}
        self.retry_after = retry_after
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """The one shape of an error on the wire: code, message, details (design section 5)."""
        return {"code": self.code, "message": self.message, "details": self.details, **self.extra}


class InvalidInput(ControlUIError):
    """The input breaks rules; `details` names every one of them."""

    status = 422
    code = "invalid_input"
    message = "The input breaks one or more rules. Nothing was saved; see details."


class NotFound(ControlUIError):
    """Unknown, or not for this caller: the two are never told apart."""

    status = 404
    code = "not_found"
    message = "There is no such thing here, or it is not for you."


class Forbidden(ControlUIError):
    """The caller may never do this, whatever the object."""

    status = 403
    code = "forbidden"
    message = "This is not allowed with this token."


class Conflict(ControlUIError):
    """The current state speaks against the request."""

    status = 409
    code = "conflict"
    message = "The current state does not allow this."


class TooMany(ControlUIError):
    """A limit was reached; nothing pending was thrown out for it (bugs case 108)."""

    status = 429
    code = "too_many_requests"
    message = "Too many requests. Wait, then try again."


class Unavailable(ControlUIError):
    """The database is busy or gone. Nothing was done; the same request may be sent again."""

    status = 503
    code = "unavailable"
    message = "The server is busy for a moment. Nothing was changed; try again shortly."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, retry_after=2)


def is_database_trouble(error: BaseException) -> bool:
    """Whether the error says that the database is locked, full of work or gone (not that our SQL is wrong)."""
    return isinstance(error, OperationalError | InterfaceError) or type(error).__name__ == "PoolTimeout"


class HonestErrorsMiddleware:
    """Turns database trouble into a 503 with Retry-After: never a 500, never half-done (bugs case 105)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.get_response(request)
        except Exception as error:
            response = self.process_exception(request, error)
            if response is None:
                raise
            return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """An answer for database trouble in a view; None lets Django go on with other errors."""
        if not is_database_trouble(error):
            return None
        trouble = Unavailable()
        if request.path.startswith("/api/"):
            response = HttpResponse(json.dumps(trouble.body()), content_type="application/json", status=503)
        else:
            response = HttpResponse(_(trouble.message), content_type="text/plain; charset=utf-8", status=503)
        response["Retry-After"] = str(trouble.retry_after)
        response["Cache-Control"] = "no-store"
        return response
