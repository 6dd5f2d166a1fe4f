"""Signed, short-lived tickets: exactly the groups a socket may join, fixed by `access.py` (design rule 8)."""

from __future__ import annotations

from django.core import signing

SALT = "controlui.live.ticket"
# A page asks for a fresh ticket with every fetch, so a ticket only has to outlive one page load.
SECONDS = 60


def sign(user_id: int, groups: list[str]) -> str:
    """A ticket for the person's own browser."""
    return signing.dumps({"user": user_id, "groups": groups}, salt=SALT, compress=True)


def read(ticket: str, user_id: int | None) -> list[str] | None:
    """The groups of a ticket that is fresh, whole and this person's; else None."""
    try:
        data = signing.loads(ticket, salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None
    if user_id is None or data.get("user") != user_id:
        return None
    return [str(group) for group in data["groups"]]
