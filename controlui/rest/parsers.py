"""JSON, read strictly: what two programs could understand differently is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.parsers import BaseParser

from controlui.errors import ControlUIError

from .shape import SURROGATE, join

# The deepest body of ours has 5 levels.
MAX_DEPTH = 16


class TooLarge(ControlUIError):
    """The body is over the limit of its kind (design section 5)."""

    status = 413
    code = "body_too_large"
    message = "The body of this request is too large."


class MalformedJSON(ControlUIError):
    """The body is not JSON, or not JSON that everybody reads the same way."""

    code = "malformed_json"
    message = "The body is not valid JSON."


class StrictJSONParser(BaseParser):
    """Reads `application/json` up to the view's `max_body_bytes`."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded body; an empty one is `{}`. Raises TooLarge, MalformedJSON."""
        view = (parser_context or {}).get("view")
        limit: int = getattr(view, "max_body_bytes", settings.MAX_ASK_BYTES)
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(extra={"limit": limit})
        return loads(raw)


def loads(raw: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises MalformedJSON, naming what is wrong with it."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(
            raw.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant, parse_float=finite
        )
    except UnicodeDecodeError as error:
        raise MalformedJSON("The body is not valid UTF-8.") from error
    except RecursionError as error:
        raise MalformedJSON(f"The body is nested more than {MAX_DEPTH} levels deep.") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise MalformedJSON(f"The body is not valid JSON: {error.msg} ({place}).") from error
    except ValueError as error:
        raise MalformedJSON("The body has a number that is too long.") from error
    check_tree(value)
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; the same key twice is refused, since parsers differ in which one they take."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedJSON("An object in the body has the same key twice.")
    return found


def no_constant(name: str) -> NoReturn:
    """NaN and Infinity are no JSON."""
    raise MalformedJSON(f"The body has {name}, which is no JSON.")


def finite(text: str) -> float:
    """A number that a float can hold."""
    number = float(text)
    if not math.isfinite(number):
        raise MalformedJSON("The body has a number that is too large.")
    return number


def check_tree(value: Any) -> None:
    """Raises MalformedJSON for text that is no Unicode (lone surrogates) and for needless depth."""
    waiting = [("", value, 1)]
    while waiting:
        path, item, depth = waiting.pop()
        if isinstance(item, str):
            if SURROGATE.search(item):
                detail = {"path": path, "rule": "character", "message": "This text has a lone surrogate."}
                raise MalformedJSON("A text in the body is not valid Unicode; see details.", details=[detail])
        elif isinstance(item, dict | list):
            if depth > MAX_DEPTH:
                raise MalformedJSON(f"The body is nested more than {MAX_DEPTH} levels deep.")
            if isinstance(item, list):
                waiting += [(f"{path}[{index}]", child, depth + 1) for index, child in enumerate(item)]
            else:
                for key, child in item.items():
                    waiting += [(join(path, key), key, depth), (join(path, key), child, depth + 1)]
