"""How a prompt ended, as a sentence for somebody who came second (style rule 32)."""

from __future__ import annotations

import datetime as dt

from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from controlui.chat import clock
from questions.models import Prompt
from questions.queries import shown_as

WHERE = {
    "web": gettext_lazy("on the web page"),
    "api": gettext_lazy("through the API"),
    "mcp": gettext_lazy("through MCP"),
    "gateway": gettext_lazy("through the gateway"),
    "tui": gettext_lazy("in the terminal"),
    "text": gettext_lazy("by a text reply"),
    "telegram": gettext_lazy("on Telegram"),
    "slack": gettext_lazy("on Slack"),
    "discord": gettext_lazy("on Discord"),
    "mattermost": gettext_lazy("on Mattermost"),
}
BY_PERSON = {
    Prompt.Status.ANSWERED: gettext_lazy("%(who)s answered this %(where)s %(when)s. Your draft is kept."),
    Prompt.Status.SKIPPED: gettext_lazy("%(who)s skipped this %(where)s %(when)s. Your draft is kept."),
}
BY_REASON = {
    "expired": gettext_lazy("This question expired %(when)s. Your draft is kept."),
    "withdrawn": gettext_lazy("The agent withdrew this question %(when)s. Your draft is kept."),
    "run_aborted": gettext_lazy("The run that asked this was aborted %(when)s. Your draft is kept."),
    "run_ended": gettext_lazy("The run that asked this ended %(when)s. Your draft is kept."),
    "run_deadline": gettext_lazy("The run that asked this reached its time limit %(when)s. Your draft is kept."),
    "superseded": gettext_lazy("The conversation was started anew %(when)s. Your draft is kept."),
}


def ago(moment: dt.datetime | None, now: dt.datetime) -> str:
    """How long ago: "2 minutes ago", or "just now"."""
    if moment is None or now - moment < dt.timedelta(minutes=1):
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(moment, now, depth=1)}


def sentence(prompt: Prompt, now: dt.datetime | None = None) -> str:
    """What happened to the prompt, from whom and where, and that nothing typed is lost."""
    now = now or clock.now()
    status, reason = shown_as(prompt, now)
    words = {
        "who": str(prompt.ended_by or ""),
        "where": str(WHERE.get(prompt.surface, "")),
        "when": ago(prompt.ended_at or prompt.closes_at, now),
    }
    if status == Prompt.Status.SUBMITTED:
        return _("An answer to this is on its way already. Your draft is kept.")
    by_person = BY_PERSON.get(Prompt.Status(status)) if prompt.ended_by else None
    fallback = gettext_lazy("This question was cancelled %(when)s. Your draft is kept.")
    return str(by_person or BY_REASON.get(reason, fallback)) % words
