"""The vendored htmx is what its record says: nothing was edited by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from django.conf import settings

VENDOR = Path(settings.BASE_DIR) / "static" / "vendor"


def test_vendored_htmx_and_its_parts_have_the_recorded_sums() -> None:
    record = json.loads((VENDOR / "htmx.json").read_text())
    joined = (VENDOR / "htmx.js").read_bytes()
    assert hashlib.sha256(joined).hexdigest() == record["htmx.js"]

    parts: dict[str, bytes] = {}
    for chunk in joined.split(f"/* {record['package']} {record['version']} ".encode())[1:]:
        heading, content = chunk.split(b"*/\n", 1)
        parts[heading.split(b",")[0].decode()] = content.rstrip()
    assert {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()} == record["parts"]
    assert list(parts) == ["dist/htmx.min.js", "dist/ext/hx-ws.min.js"]


def test_vendored_htmx_names_no_source_map_that_a_browser_would_ask_for() -> None:
    assert b"sourceMappingURL" not in (VENDOR / "htmx.js").read_bytes()
