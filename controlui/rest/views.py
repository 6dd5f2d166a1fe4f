"""The base of every API view: throttles, body limits, and readers of headers and queries."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlui.errors import InvalidInput, NotFound

from . import throttling
from .shape import Check, Faults

T = TypeVar("T")

KEY_MAX = 200
PAGE_DEFAULT, PAGE_MAX = 50, 100
PLACE = re.compile(r"[A-Za-z0-9_-]{1,128}")
PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation + " ")


class ApiView(APIView):
    """A view of the API. `max_body_bytes`: the limit of its bodies; `scopes`: more throttles than the caller's own."""

    http_method_names = ["get", "post", "head"]
    max_body_bytes: int = settings.MAX_FORM_BYTES
    scopes: dict[str, str] = {}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """DRF takes a body without Content-Length for none; a chunked one has none and is read all the same."""
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            request.META["CONTENT_LENGTH"] = "-1"
        return super().initialize_request(request, *args, **kwargs)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What one caller may see is kept by no cache on the way."""
        response.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, response, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        """Finds the caller; those without a valid token are counted by their address."""
        try:
            known = request.user is not None
        except AuthenticationFailed:
            throttling.count("anonymous", throttling.address_of(request))
            raise
        if not known:
            throttling.count("anonymous", throttling.address_of(request))

    def check_throttles(self, request: Request) -> None:
        """Counts the request for its caller, and for the scope of its method if it has one."""
        caller: Any = request.user
        throttling.count("agent" if caller.is_agent else "person", caller.throttle_key)
        scope = self.scopes.get(request.method or "")
        if scope:
            throttling.count(scope, caller.throttle_key)


def checked(parse: Callable[[], T]) -> T:
    """What a pure reader of the wire form gives; its Faults as the API's InvalidInput."""
    try:
        return parse()
    except Faults as faults:
        raise InvalidInput(details=faults.details) from faults


def no_fields(data: Any) -> None:
    """Raises InvalidInput unless the body is empty or an empty object."""
    check = Check()
    check.mapping(data, "", ())
    checked(check.done)


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header: 1 to 200 printable ASCII characters. Raises InvalidInput."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    check = Check()
    if not 1 <= len(key) <= KEY_MAX:
        message = f"An Idempotency-Key has 1 to {KEY_MAX} characters."
        check.fault("Idempotency-Key", "length", message, limit=KEY_MAX, length=len(key))
    if not PRINTABLE.issuperset(key):
        check.fault("Idempotency-Key", "character", "An Idempotency-Key has printable ASCII characters only.")
    checked(check.done)
    return key


def page_size(request: Request) -> int:
    """`?limit=`, 1 to 100, 50 when it is missing. Raises InvalidInput."""
    text = request.query_params.get("limit", str(PAGE_DEFAULT))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= PAGE_MAX):
        check = Check()
        check.fault("limit", "range", f"limit is a whole number from 1 to {PAGE_MAX}.", limit=PAGE_MAX)
        checked(check.done)
    return int(text)


def place_after(request: Request) -> str | None:
    """`?before=`: the id to go on from. Raises NotFound for what can be no id, and never asks the database."""
    before: str | None = request.query_params.get("before")
    if before is not None and not PLACE.fullmatch(before):
        raise NotFound
    return before


def next_page(request: Request, before: str | None) -> str | None:
    """The address of the page after this one, or None on the last."""
    if before is None:
        return None
    query = request.query_params.copy()
    query["before"] = before
    return f"{request.path}?{urlencode(list(query.items()))}"


def record_response(record: dict[str, Any], *, created: bool = False, replayed: bool = False) -> Response:
    """A record; `Idempotent-Replayed` says that this request had been carried out before."""
    headers = {"Idempotent-Replayed": "true"} if replayed else {}
    return Response(record, status=201 if created else 200, headers=headers)
