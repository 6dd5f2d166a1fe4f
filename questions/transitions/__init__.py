"""The only door for changes of prompts and drafts (design rule 2)."""

from controlui.chat.alternates import SavedDraft

from .drafts import drop_alternate, save_draft, use_alternate
from .ends import (
    answer_prompt,
    cancel_prompts_of_conversation,
    cancel_prompts_of_run,
    expire_due_prompts,
    extend_prompt,
    move_prompts_to_run,
    skip_prompt,
    withdraw_prompt,
)
from .opening import open_prompt
from .reminders import follow_delivery, reopen_reminder, retire_reminders

__all__ = [
    "SavedDraft",
    "answer_prompt",
    "cancel_prompts_of_conversation",
    "cancel_prompts_of_run",
    "drop_alternate",
    "expire_due_prompts",
    "extend_prompt",
    "follow_delivery",
    "move_prompts_to_run",
    "open_prompt",
    "reopen_reminder",
    "retire_reminders",
    "save_draft",
    "skip_prompt",
    "use_alternate",
    "withdraw_prompt",
]
