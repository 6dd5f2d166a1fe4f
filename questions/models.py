"""Prompts, their questions, drafts and events. No writes here: see transitions."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from controlui.chat.ids import new_uid
from controlui.chat.models import Agent, Conversation, Message, Run
from outbox.models import Delivery


class Prompt(models.Model):
    """One ask: one to three questions.

    `expires_at` is the maximum wait for the person; `closes_at` the earlier of it and the run's deadline:
    the one moment that decides whether an answer is late (design rule 1). Both empty for async prompts.
    """

    class Mode(models.TextChoices):
        BLOCKING = "blocking"
        ASYNC = "async"

    class Status(models.TextChoices):
        PENDING = "pending"
        SUBMITTED = "submitted"
        ANSWERED = "answered"
        SKIPPED = "skipped"
        EXPIRED = "expired"
        CANCELLED = "cancelled"

    uid = models.CharField(max_length=22, unique=True, default=new_uid, editable=False)
    client_id = models.CharField(max_length=128, null=True)
    # Of the ask's canonical JSON: the same key or id with another body is a mistake of the agent's.
    body_digest = models.CharField(max_length=64, blank=True, default="")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="prompts")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="prompts")
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="prompts")
    # The saved message that stands for it in history; its stream says who may see the prompt.
    message = models.OneToOneField(Message, on_delete=models.PROTECT, related_name="prompt")
    acts_for = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.BLOCKING)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.PENDING)
    end_reason = models.CharField(max_length=32, blank=True, default="")
    timeout_seconds = models.PositiveIntegerField(null=True)
    max_timeout_seconds = models.PositiveIntegerField(null=True)
    expires_at = models.DateTimeField(null=True)
    closes_at = models.DateTimeField(null=True)
    opened_seq = models.BigIntegerField()
    ended_seq = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    answers = models.JSONField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    surface = models.CharField(max_length=10, blank=True, default="")
    # Digest of the submitter's receipt (`resolutionId`), so that a repeat learns that its own answer stands.
    resolution_digest = models.CharField(max_length=64, blank=True, default="")
    # Async only. Retired: in history as "no longer pending", though still pending; `reopened_seq` is where it was
    # last put back into the dock, so that no boundary before that counts. `delivery` is its one current delivery.
    retired_at = models.DateTimeField(null=True)
    reopened_seq = models.BigIntegerField(null=True)
    delivery = models.OneToOneField(Delivery, null=True, on_delete=models.SET_NULL, related_name="prompt")
    # The saved text of an answer that was edited on its way, or could not be told apart by its headings.
    answer_text = models.TextField(blank=True, default="")
    # A row whose sweep threw is pushed ahead, so that it cannot stop the loop.
    held_until = models.DateTimeField(null=True)
    sweep_error = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "client_id"], name="prompt_id_is_the_agents_own"),
            # Bugs case 01: "answered" cannot be stored without an answer.
            models.CheckConstraint(
                condition=~Q(status="answered") | Q(answers__isnull=False), name="answered_has_an_answer"
            ),
        ]
        indexes = [
            # Reader: the worker loop, for prompts that are due.
            models.Index(fields=["closes_at"], condition=Q(status="pending"), name="prompt_due"),
            # Reader: the dock and the badges, for what waits in a conversation.
            models.Index(fields=["conversation", "status", "id"], name="prompt_waiting"),
            # Reader: the agent's list of its own, newest first.
            models.Index(fields=["agent", "-id"], name="prompt_of_agent"),
            # Reader: a person's call with the id that an agent chose (access.get_prompt_for).
            models.Index(fields=["client_id"], condition=Q(client_id__isnull=False), name="prompt_client_id"),
            # Reader: the end of a run, for what it still asks.
            models.Index(fields=["run", "status"], condition=Q(run__isnull=False), name="prompt_of_run"),
        ]

    @property
    def wire_id(self) -> str:
        """The id that the agent knows: its own, if it chose one."""
        return self.client_id or self.uid

    def is_open(self, at: dt.datetime) -> bool:
        """Whether an answer given at this moment counts."""
        return self.status == self.Status.PENDING and (self.closes_at is None or self.closes_at > at)


class Question(models.Model):
    """An item of a prompt. `options` is a list of `{"key", "label", "description"}`; keys never change."""

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="questions")
    index = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=64)
    header = models.CharField(max_length=400)
    full_header = models.TextField()
    text = models.TextField()
    options = models.JSONField()
    multi_select = models.BooleanField(default=False)

    class Meta:
        ordering = ["index"]
        constraints = [models.UniqueConstraint(fields=["prompt", "key"], name="question_key_in_prompt")]

    @property
    def labels(self) -> list[str]:
        """The authored labels, in order."""
        return [option["label"] for option in self.options]


class Draft(models.Model):
    """What one person has ticked and typed for a prompt and not sent (design rule 4).

    `values`: `{question key: {"chosen": [option key, ...], "text": str}}`. `tabs`: the highest sequence
    seen of each recent tab. `alternates`: what tabs that did not know the present revision saved, kept
    beside it: a list of `{"tab", "values"}`, the newest last.
    """

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=0)
    tab = models.CharField(max_length=64, blank=True, default="")
    tabs = models.JSONField(default=dict)
    alternates = models.JSONField(default=list)
    # Something was ticked or typed since the prompt last came into the dock; `kept`: so it was when the prompt
    # retired, and this person's dock keeps it (design section 6).
    edited = models.BooleanField(default=False)
    kept = models.BooleanField(default=False)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["prompt", "user"], name="one_draft_per_person")]


class AskKey(models.Model):
    """An `Idempotency-Key` of an agent: lives 24 hours and names the one prompt it made."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="ask_keys")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="ask_key_of_agent")]


class PromptEvent(models.Model):
    """One change of a prompt: append-only, a link of its conversation's hash chain.

    `digest` covers the previous link, this row's facts and `content_digest`; that covers `salt` and
    `content`, so content and salt can be deleted later and the chain still holds.
    """

    class Kind(models.TextChoices):
        OPENED = "opened"
        ANSWERED = "answered"
        SKIPPED = "skipped"
        CANCELLED = "cancelled"
        EXPIRED = "expired"
        EXTENDED = "extended"
        MOVED = "moved"
        SUBMITTED = "submitted"
        RETURNED = "returned"
        RETIRED = "retired"
        REOPENED = "reopened"

    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="prompt_events")
    number = models.BigIntegerField()
    prompt_uid = models.CharField(max_length=22, db_index=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="+")
    surface = models.CharField(max_length=10, blank=True, default="")
    at = models.DateTimeField()
    salt = models.CharField(max_length=32, blank=True, default="")
    content = models.JSONField(null=True)
    content_digest = models.CharField(max_length=64)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="event_place_in_chain"),
            models.CheckConstraint(condition=Q(number__gt=0) & ~Q(previous=F("digest")), name="event_is_a_link"),
        ]
