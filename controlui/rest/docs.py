"""How views describe themselves for OpenAPI: by name of a component. `controlui.api.openapi` has the components."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

F = TypeVar("F", bound=Callable[..., Any])

ERRORS = {
    400: "The body is no strict JSON in UTF-8.",
    401: "The token is missing, unknown or revoked.",
    403: "Never allowed with this token.",
    404: "There is no such thing, or it is not for the caller: the two are never told apart.",
    406: "The caller accepts no JSON.",
    409: "The current state speaks against it; `code` says how.",
    413: "The body is too large; `limit` is in bytes.",
    415: "The body is not `application/json`.",
    422: "The input breaks rules; `details` names every one.",
    429: "Too many requests; `Retry-After` says when to go on.",
    503: "The database is busy or gone. Nothing was changed; `Retry-After` says when to try again.",
}
# Of an address, not of one operation.
EVERYWHERE = {
    400: "The body is no strict JSON in UTF-8, or the host name is not one of this server's (`bad_host`).",
    405: "The address has no such method; `Allow` names those that it has.",
}
ALWAYS = (401, 404, 406, 429, 503)
WITH_BODY = (400, 413, 415, 422)

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]*$"},
    OpenApiParameter.HEADER,
    description="The same key with the same body, within 24 hours, is carried out once.",
)
REPLAYED = OpenApiParameter(
    "Idempotent-Replayed",
    {"type": "string", "enum": ["true"]},
    OpenApiParameter.HEADER,
    description="This very request had been carried out before; nothing was done again.",
    response=[200],
)
PAGING = (
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": 100, "default": 50}, description="How many at most."
    ),
    OpenApiParameter(
        "before", {"type": "string"}, description="Go on from here: take `next` of the page before instead."
    ),
)
SESSION_KEY = OpenApiParameter(
    "key",
    {"type": "string", "minLength": 1, "maxLength": 200},
    OpenApiParameter.PATH,
    description="The sessionKey. It may contain slashes; write them as they are or as %2F.",
)


def ref(component: str) -> dict[str, str]:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{component}"}


def id_parameter(pattern: str, description: str) -> OpenApiParameter:
    """The id in a path."""
    return OpenApiParameter(
        "id", {"type": "string", "pattern": f"^{pattern}$"}, OpenApiParameter.PATH, description=description
    )


def operation(
    operation_id: str,
    summary: str,
    description: str = "",
    *,
    request: str | None = None,
    ok: dict[int, tuple[str, str]],
    errors: Iterable[int] = (),
    parameters: Iterable[OpenApiParameter] = (),
    tag: str,
) -> Callable[[F], F]:
    """Describes one operation: its body and answers by component, and every error it may give."""
    body = {} if request is None else {"application/json": ref(request)}
    codes = sorted({*ALWAYS, *errors, *(WITH_BODY if request else ())})
    responses: dict[int, OpenApiResponse] = {
        code: OpenApiResponse(ref(component), description=text) for code, (component, text) in ok.items()
    }
    responses |= {code: OpenApiResponse(ref("Error"), description=ERRORS[code]) for code in codes}
    described: Callable[[F], F] = extend_schema(
        operation_id=operation_id,
        summary=summary,
        description=description,
        request=body or None,
        responses=responses,
        parameters=list(parameters),
        tags=[tag],
    )
    return described
