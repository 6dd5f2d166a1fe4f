"""The OpenAPI description: what the views say of themselves, the components, and the raw wait door by hand."""

from __future__ import annotations

import functools
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

from controlui.rest.docs import ALWAYS, ERRORS, ref
from outbox.transports.inbox import MAX_ITEMS
from questions.api import PROMPT_ID

from .components import COMPONENTS, SESSION_KEY
from .wait import DEFAULT_SECONDS, MAX_SECONDS

WAIT, INBOX = "/api/v1/questions/{id}/wait", "/api/v1/inbox"
# The door is beside Django and answers JSON to everybody, so it knows no 406; its query may be wrong.
WAIT_ERRORS = sorted({*ALWAYS, 409, 422} - {406, 429})
HEADERS = (
    ("401", "WWW-Authenticate", "Bearer"),
    ("429", "Retry-After", "Seconds to wait."),
    ("503", "Retry-After", "Seconds to wait."),
)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tells OpenAPI what our tokens are."""

    target_class = "controlui.rest.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "An agent's token, or a person's."}


def seconds(name: str, description: str) -> dict[str, Any]:
    """The query parameter that says how long to wait."""
    shape = {"type": "number", "minimum": 0, "maximum": MAX_SECONDS, "default": DEFAULT_SECONDS}
    return {"in": "query", "name": name, "schema": shape, "description": description}


def wait_operation() -> dict[str, Any]:
    """`GET /questions/{id}/wait`, which is no Django view and cannot describe itself."""
    json_of = {name: {"application/json": {"schema": ref(name)}} for name in ("Prompt", "Error")}
    answers: dict[str, Any] = {
        "200": {"content": json_of["Prompt"], "description": "The prompt: ended, or still open after the wait."}
    }
    for code in WAIT_ERRORS:
        answers[str(code)] = {"content": json_of["Error"], "description": ERRORS[code]}
    return {
        "operationId": "waitForQuestion",
        "summary": "Wait for the end of a prompt",
        "description": (
            "Holds the reply until the prompt ends or the seconds are over, whichever is first. May be called "
            "again, by several waiters, and after a restart of the server. Access is checked again at the end."
        ),
        "parameters": [
            {
                "in": "path",
                "name": "id",
                "required": True,
                "schema": {"type": "string", "pattern": f"^{PROMPT_ID}$"},
                "description": "The question's id.",
            },
            seconds("seconds", f"How long, at most {MAX_SECONDS}."),
        ],
        "tags": ["Questions"],
        "security": [{"token": []}],
        "responses": answers,
    }


def inbox_operation() -> dict[str, Any]:
    """`GET /inbox`, which is no Django view either."""
    json_of = {name: {"application/json": {"schema": ref(name)}} for name in ("Inbox", "Error")}
    answers: dict[str, Any] = {
        "200": {"content": json_of["Inbox"], "description": "What was leased; nothing, if none."}
    }
    for code in sorted({*ALWAYS, 403, 422} - {404, 406}):
        answers[str(code)] = {"content": json_of["Error"], "description": ERRORS[code]}
    size = {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS, "default": MAX_ITEMS}
    wait = seconds("wait", f"Hold the reply until something is there, at most {MAX_SECONDS}.")
    wait["schema"]["default"] = 0
    return {
        "operationId": "readInbox",
        "summary": "Take what people sent",
        "description": (
            "Leases the first message in line of each conversation, for 60 seconds. Acknowledge each: what is not "
            "acknowledged in time becomes *unconfirmed*, and is never sent again by itself."
        ),
        "parameters": [
            wait,
            {"in": "query", "name": "max", "schema": size, "description": "How many at most."},
            {"in": "query", "name": "sessionKey", "schema": SESSION_KEY, "description": "Of this session only."},
        ],
        "tags": ["Inbox"],
        "security": [{"token": []}],
        "responses": answers,
    }


def complete(operation: dict[str, Any]) -> None:
    """What holds for every operation: bodies with required fields are required, some errors carry headers."""
    if "requestBody" in operation:
        named = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        operation["requestBody"]["required"] = "required" in COMPONENTS[named]
    for code, name, text in HEADERS:
        if code in operation["responses"]:
            operation["responses"][code]["headers"] = {name: {"schema": {"type": "string"}, "description": text}}


@functools.cache
def description() -> dict[str, Any]:
    """The whole document. It depends on nothing but the code, so it is made once."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    document: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    paths: dict[str, Any] = document["paths"]
    paths["/api/v1/ask"]["post"]["parameters"].append(
        seconds("wait", f"Hold the reply until the end, or for this long, at most {MAX_SECONDS}.")
    )
    paths[WAIT] = {"get": wait_operation()}
    paths[INBOX] = {"get": inbox_operation()}
    for methods in paths.values():
        for operation in methods.values():
            complete(operation)
    document["paths"] = dict(sorted(paths.items()))
    document["components"]["schemas"] = {**document["components"].get("schemas", {}), **COMPONENTS}
    return document
