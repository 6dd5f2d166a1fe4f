"""Every address of the API, version 1. Anything else under /api is an honest 404 in the one error shape."""

from __future__ import annotations

from django.urls import path, re_path, register_converter

from controlui.chat import api as chat
from controlui.chat.schema import RUN_ID
from outbox import api as outbox
from outbox.schema import DELIVERY_ID
from questions import api as questions

from . import docs


class PromptIdConverter:
    """A prompt's id: anything else cannot exist, and never reaches the database."""

    regex = questions.PROMPT_ID

    def to_python(self, value: str) -> str:
        """The id as it is."""
        return value

    def to_url(self, value: str) -> str:
        """The id as it is."""
        return value


class RunIdConverter(PromptIdConverter):
    """A run's id."""

    regex = RUN_ID


class DeliveryIdConverter(PromptIdConverter):
    """A delivery's id."""

    regex = DELIVERY_ID


register_converter(DeliveryIdConverter, "delivery_id")
register_converter(PromptIdConverter, "prompt_id")
register_converter(RunIdConverter, "run_id")

urlpatterns = [
    path("v1/runs", chat.RunsView.as_view(), name="api-runs"),
    path("v1/runs/<run_id:id>", chat.RunView.as_view(), name="api-run"),
    path("v1/runs/<run_id:id>/finish", chat.FinishView.as_view(), name="api-run-finish"),
    path("v1/ask", questions.AskView.as_view(), name="api-ask"),
    path("v1/questions", questions.QuestionsView.as_view(), name="api-questions"),
    path("v1/questions/<prompt_id:id>", questions.QuestionView.as_view(), name="api-question"),
    path("v1/questions/<prompt_id:id>/answer", questions.AnswerView.as_view(), name="api-question-answer"),
    path("v1/questions/<prompt_id:id>/skip", questions.SkipView.as_view(), name="api-question-skip"),
    path("v1/questions/<prompt_id:id>/cancel", questions.CancelView.as_view(), name="api-question-cancel"),
    path("v1/inbox/<delivery_id:id>/ack", outbox.AckView.as_view(), name="api-inbox-ack"),
    path("v1/inbox/<delivery_id:id>/lease", outbox.LeaseView.as_view(), name="api-inbox-lease"),
    # A sessionKey may have slashes, so what stands behind it goes first.
    path("v1/sessions/<path:key>/messages", chat.MessagesView.as_view(), name="api-session-messages"),
    path("v1/sessions/<path:key>/reset", chat.ResetView.as_view(), name="api-session-reset"),
    path("v1/sessions/<path:key>", chat.SessionView.as_view(), name="api-session"),
    re_path(r"^schema/?$", docs.schema, name="api-schema"),
    re_path(r"^docs/?$", docs.docs_page, name="api-docs"),
    path("docs.css", docs.docs_style, name="api-docs-style"),
    re_path(r"^", docs.nothing, name="api-nothing"),
]
