"""The only door for changes of people, conversations, runs and messages (design rule 2)."""

from .change import Change, change
from .conversations import (
    clear_composer_draft,
    drop_composer_alternate,
    open_conversation,
    reset_conversation,
    restore_composer_text,
    save_composer_draft,
    say,
    start_conversation,
    use_composer_alternate,
)
from .people import (
    create_agent,
    create_sign_in_link,
    create_token,
    create_user,
    find_sign_in_link,
    set_open,
    set_webhook,
    spend_sign_in_link,
)
from .runs import end_due_runs, finish_run, open_run

__all__ = [
    "Change",
    "change",
    "clear_composer_draft",
    "create_agent",
    "create_sign_in_link",
    "create_token",
    "create_user",
    "drop_composer_alternate",
    "end_due_runs",
    "find_sign_in_link",
    "finish_run",
    "open_conversation",
    "open_run",
    "reset_conversation",
    "restore_composer_text",
    "save_composer_draft",
    "say",
    "set_open",
    "set_webhook",
    "spend_sign_in_link",
    "start_conversation",
    "use_composer_alternate",
]
