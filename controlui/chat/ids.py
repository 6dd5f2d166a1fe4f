"""Opaque, unguessable ids (style rule 19): what stands in addresses and on the wire, never a row number."""

from __future__ import annotations

import base64
import hashlib
import secrets

SIGNING_PREFIX = "whsec_"


def new_uid() -> str:
    """22 URL-safe characters, 128 bits of chance."""
    return secrets.token_urlsafe(16)


def can_exist(uid: str) -> bool:
    """Whether an id that somebody sent can be one of ours: PostgreSQL fails on a NUL instead of finding nothing."""
    return "\x00" not in uid


def new_token(prefix: str) -> str:
    """A bearer token, `prefix_` and 256 bits: shown once, kept only as a digest."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_signing_secret() -> str:
    """A secret for a webhook's signatures: `whsec_` and 192 bits of chance in base64 (Standard Webhooks)."""
    return SIGNING_PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def digest(text: str) -> str:
    """SHA-256, hex. Enough for secrets of 256 random bits, which nobody can guess offline."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
