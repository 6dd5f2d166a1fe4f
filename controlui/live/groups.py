"""The only place that makes channel-layer group names (style rule 25)."""

from __future__ import annotations


def stream_group(stream_uid: str, language: str) -> str:
    """The pages that may see a stream, by the language they are drawn in."""
    return f"stream.{stream_uid}.{language}"


def user_group(user_id: int) -> str:
    """Every open page of one person: closing sockets, own drafts, new streams."""
    return f"user.{user_id}"


def prompt_group(prompt_uid: str) -> str:
    """The agents that wait for one prompt."""
    return f"prompt.{prompt_uid}"
