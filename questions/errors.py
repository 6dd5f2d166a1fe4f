"""What can go wrong with prompts. The tree is drawn in controlui/errors.py."""

from __future__ import annotations

from typing import Any

from controlui.errors import Conflict, Forbidden, TooMany

from .models import Prompt


class AlreadyResolved(Conflict):
    """Somebody or something ended the prompt first; `prompt` is how it stands."""

    code = "already_resolved"
    message = "This question was resolved already. The first outcome stands."

    def __init__(self, prompt: Prompt, extra: dict[str, Any]) -> None:
        self.prompt = prompt
        super().__init__(extra=extra)


class PromptAlreadyPending(Conflict):
    """A run may have one pending blocking prompt (design section 5)."""

    code = "prompt_already_pending"
    message = "This run is waiting for another answer already. Wait for it, or withdraw it first."


class PromptIdInUse(Conflict):
    """The agent chose an id that it used before, with another body."""

    code = "id_in_use"
    message = "This id was used before with another body. Choose another id."


class NotMainSession(Forbidden):
    """Only a main run asks people (seed)."""

    code = "not_main_session"
    message = "Subagents do not ask people. Let the main run ask."


class AgentCannotAnswer(Forbidden):
    """An agent never answers a prompt (design rule 7)."""

    code = "agent_cannot_answer"
    message = "An agent's token cannot answer or skip. Only a person can."


class NoMoreTime(Conflict):
    """The prompt is at its longest wait."""

    code = "no_more_time"
    message = "This question cannot be given more time."


class TooManyPending(TooMany):
    """The conversation holds as many pending prompts as it may; none of them is thrown out."""

    code = "too_many_pending"
    message = "Too many questions are waiting in this session already. Wait until some are answered."
