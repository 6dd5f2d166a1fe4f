#!/usr/bin/env python3
"""Takes htmx from its npm package and makes static/vendor/htmx.js: the core and hx-ws in one file.

One file, because as two deferred scripts they missed the socket on one load in eight (design section 4).
Run by hand to change the version; static/vendor/htmx.json keeps what was taken, and a test checks it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "htmx.org"
VERSION = "4.0.1"
PARTS = ("dist/htmx.min.js", "dist/ext/hx-ws.min.js")
VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"


def sha256(content: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(content).hexdigest()


def heading(part: str) -> bytes:
    """The line that stands before a part in the joined file, and by which a test takes it apart again."""
    return f"/* {PACKAGE} {VERSION} {part}, Zero-Clause BSD: see htmx-LICENSE.txt */\n".encode()


def read_package() -> dict[str, bytes]:
    """The parts and the license out of the package, as npm hands it over."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", f"{PACKAGE}@{VERSION}", "--silent"], cwd=folder, check=True, capture_output=True, text=True
        )
        found = {}
        with tarfile.open(Path(folder) / packed.stdout.strip().splitlines()[-1]) as archive:
            for name in (*PARTS, "LICENSE"):
                member = archive.extractfile(f"package/{name}")
                if member is None:
                    raise SystemExit(f"{PACKAGE} {VERSION} has no {name}")
                found[name] = member.read()
    return found


def main() -> None:
    """Writes htmx.js, htmx.json and the license; says what they weigh."""
    found = read_package()
    joined = b"".join(heading(part) + found[part].rstrip() + b"\n" for part in PARTS)
    record = {
        "package": PACKAGE,
        "version": VERSION,
        "parts": {part: sha256(found[part].rstrip()) for part in PARTS},
        "htmx.js": sha256(joined),
    }
    VENDOR.mkdir(parents=True, exist_ok=True)
    (VENDOR / "htmx.js").write_bytes(joined)
    (VENDOR / "htmx-LICENSE.txt").write_bytes(found["LICENSE"])
    (VENDOR / "htmx.json").write_text(json.dumps(record, indent=2) + "\n")
    sys.stdout.write(f"static/vendor/htmx.js: {len(joined)} bytes, sha256 {record['htmx.js']}\n")


if __name__ == "__main__":
    main()
