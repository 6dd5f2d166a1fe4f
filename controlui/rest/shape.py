"""Checks the shape of JSON that came over the wire: every fault at once, each with its path.

Pure Python: no Django, no DRF. What the fields mean is decided by the schemas that use this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import regex

Detail = dict[str, Any]

# Enough to mend any honest mistake; a hostile body cannot make us answer with megabytes.
MAX_FAULTS = 100
MAX_KEY_SHOWN = 64

# Cannot be stored (PostgreSQL refuses NUL), or cannot be written as UTF-8 at all.
UNSTORABLE = regex.compile(r"[\x00\ud800-\udfff]")
SURROGATE = regex.compile(r"[\ud800-\udfff]")
CONTROL = regex.compile(r"\p{Cc}")
# Something that leaves ink: no space, no control character, nothing default-ignorable (zero-width, bidi
# controls, fillers), no annotation mark, no empty Braille cell.
INK = regex.compile(r"[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u2800]")


class Faults(ValueError):
    """Every fault of an input: `details` is a list of `{"path", "rule", "message", ...}`."""

    def __init__(self, details: list[Detail]) -> None:
        self.details = details
        super().__init__("; ".join(f"{detail['path']}: {detail['rule']}" for detail in details))


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: empty, spaces, zero-width and control characters only."""
    return INK.search(text) is None


def shown(key: object) -> str:
    """A key as it may stand in a path: short, and always writable as UTF-8."""
    return CONTROL.sub("\ufffd", UNSTORABLE.sub("\ufffd", str(key)))[:MAX_KEY_SHOWN]


def join(path: str, key: object) -> str:
    """The path of a field: `questions[0]` and `id` make `questions[0].id`."""
    return f"{path}.{shown(key)}" if path else shown(key)


class Check:
    """Collects faults while a body is read. Readers give None where a value is missing or unusable."""

    def __init__(self) -> None:
        self.details: list[Detail] = []

    def fault(self, path: str, rule: str, message: str, **more: Any) -> None:
        """Notes one fault; `more` holds what a program needs to mend it (limit, length, allowed)."""
        if len(self.details) < MAX_FAULTS:
            self.details.append({"path": path, "rule": rule, "message": message, **more})

    def done(self) -> None:
        """Raises Faults when any fault was noted."""
        if self.details:
            raise Faults(self.details)

    def mapping(self, value: object, path: str, keys: Collection[str]) -> Mapping[str, object] | None:
        """An object with these keys only; others are faults, one each."""
        if not isinstance(value, dict):
            self.fault(path, "type", "This must be a JSON object.", expected="object")
            return None
        for key in value:
            if key not in keys:
                self.fault(join(path, key), "unknown_key", "This field is not known here.", allowed=sorted(keys))
        return value

    def given(self, data: Mapping[str, object], path: str, key: str, *, required: bool) -> bool:
        """Whether the field is there; a missing required one is a fault."""
        if key in data:
            return True
        if required:
            self.fault(join(path, key), "required", "This field is required.")
        return False

    def text(
        self, data: Mapping[str, object], path: str, key: str, *, required: bool = False, limit: int | None = None
    ) -> str | None:
        """A text of the object, trimmed and not blank."""
        if not self.given(data, path, key, required=required):
            return None
        return self.plain(data[key], join(path, key), limit=limit)

    def plain(self, value: object, path: str, *, limit: int | None = None, blank: bool = False) -> str | None:
        """A text, trimmed. One that is too long is a fault and is given back, so that other rules look at it too."""
        if not isinstance(value, str):
            self.fault(path, "type", "This must be a text.", expected="string")
            return None
        if UNSTORABLE.search(value):
            self.fault(path, "character", "This text has a NUL or a lone surrogate.")
            return None
        value = value.strip()
        if not blank and is_blank(value):
            self.fault(path, "blank", "This text is empty.")
            return None
        if limit is not None and len(value) > limit:
            message = f"This text has at most {limit} characters."
            self.fault(path, "length", message, limit=limit, length=len(value))
        return value

    def matching(
        self, data: Mapping[str, object], path: str, key: str, pattern: str, *, required: bool = False
    ) -> str | None:
        """A text that matches the whole pattern, not trimmed: ids are exact."""
        if not self.given(data, path, key, required=required):
            return None
        value = data[key]
        if not isinstance(value, str):
            self.fault(join(path, key), "type", "This must be a text.", expected="string")
            return None
        if not regex.fullmatch(pattern, value):
            self.fault(join(path, key), "pattern", f"This must match {pattern} in full.", pattern=pattern)
            return None
        return value

    def line(
        self, data: Mapping[str, object], path: str, key: str, *, limit: int, required: bool = False
    ) -> str | None:
        """A text of one line: trimmed, not blank, without control characters (session keys, run ids)."""
        value = self.text(data, path, key, required=required, limit=limit)
        if value is not None and CONTROL.search(value):
            self.fault(join(path, key), "control_character", "This text has no control characters.")
            return None
        return value

    def one_of(
        self, data: Mapping[str, object], path: str, key: str, allowed: Collection[str], *, required: bool = False
    ) -> str | None:
        """One of some fixed words."""
        if not self.given(data, path, key, required=required):
            return None
        value = data[key]
        if not isinstance(value, str) or value not in allowed:
            words = ", ".join(allowed)
            self.fault(join(path, key), "choice", f"This must be one of: {words}.", allowed=list(allowed))
            return None
        return value

    def integer(self, data: Mapping[str, object], path: str, key: str) -> int | None:
        """A whole number; true and false are none, nor is null."""
        if key not in data:
            return None
        value = data[key]
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(join(path, key), "type", "This must be a whole number.", expected="integer")
            return None
        return value

    def boolean(self, data: Mapping[str, object], path: str, key: str) -> bool:
        """True or false; false when it is missing."""
        value = data.get(key, False)
        if not isinstance(value, bool):
            self.fault(join(path, key), "type", "This must be true or false.", expected="boolean")
            return False
        return value

    def items(self, data: Mapping[str, object], path: str, key: str, *, least: int, most: int) -> list[object]:
        """A list of `least` to `most` items; a list of another length is a fault and is given back all the same."""
        if not self.given(data, path, key, required=True):
            return []
        value = data[key]
        if not isinstance(value, list):
            self.fault(join(path, key), "type", "This must be a list.", expected="array")
            return []
        if not least <= len(value) <= most:
            limit = least if len(value) < least else most
            message = f"There must be {least} to {most} of these."
            self.fault(join(path, key), "count", message, limit=limit, length=len(value))
        return value
