"""Opaque, unguessable ids (style rule 19): what stands in addresses and on the wire, never a row number."""

from __future__ import annotations

import hashlib
import secrets


def new_uid() -> str:
    """22 URL-safe characters, 128 bits of chance."""
    return secrets.token_urlsafe(16)


def can_exist(uid: str) -> bool:
    """Whether an id that somebody sent can be one of ours: PostgreSQL fails on a NUL instead of finding nothing."""
    return "\x00" not in uid


def new_token(prefix: str) -> str:
    """A bearer token, `prefix_` and 256 bits: shown once, kept only as a digest."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(text: str) -> str:
    """SHA-256, hex. Enough for secrets of 256 random bits, which nobody can guess offline."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
