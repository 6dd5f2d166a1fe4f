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


def inbox_group(agent_id: int) -> str:
    """The open inbox calls of one agent."""
    return f"inbox.{agent_id}"


def work_group() -> str:
    """The worker loops: a message for a webhook may be due."""
    return "work"


def list_groups(audience_id: int | None, conversation_uid: str) -> tuple[str, ...]:
    """Whose lists and badges a change of a prompt may touch: admins, who takes part, the person it is for."""
    everybody = (admins_list_group(), conversation_list_group(conversation_uid))
    if audience_id is None:
        return everybody
    return (*everybody, person_list_group(audience_id), person_list_group(audience_id, conversation_uid))


def person_list_group(user_id: int, conversation_uid: str = "") -> str:
    """Pages of the person that prompts are for: wherever they stand, or of one conversation only."""
    return f"list.user.{user_id}.{conversation_uid}" if conversation_uid else f"list.user.{user_id}"


def admins_list_group() -> str:
    """Pages of everybody who may see every prompt."""
    return "list.admins"


def conversation_list_group(conversation_uid: str) -> str:
    """Pages of people who may see every prompt of this conversation."""
    return f"list.conversation.{conversation_uid}"
