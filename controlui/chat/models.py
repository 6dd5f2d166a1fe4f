"""Conversations, who is in them, what was said, and the runs that said it. No writes here: see transitions."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q

from .ids import new_uid

# The seed's scopes: codename and meaning. `controlui.chat.scopes` says which imply which.
SCOPES = (
    ("operator.read", "May read conversations they take part in"),
    ("operator.write", "May write in conversations they take part in"),
    ("operator.questions", "May see and answer the ordinary questions of conversations they take part in"),
    ("operator.sessions.write", "May start conversations and answer what their own runs ask there"),
    ("operator.admin", "May see and do everything"),
)


class User(AbstractUser):
    """A person."""

    class Meta(AbstractUser.Meta):
        permissions = SCOPES

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Agent(models.Model):
    """A program that may ask. Its owner takes part in its conversations (design section 7)."""

    name = models.CharField(max_length=100, unique=True)
    owner = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="agents")
    # Where deliveries go; without an address the agent reads its inbox. The secret signs what is sent there.
    webhook_url = models.URLField(blank=True, default="", max_length=2000)
    webhook_secret = models.CharField(max_length=64, blank=True, default="")
    inbox_read_at = models.DateTimeField(null=True, blank=True)
    # Whether everybody may start conversations with it, guests too; else its owner and admins.
    is_open = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Token(models.Model):
    """A bearer token of an agent or of a person; only its digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    agent = models.ForeignKey(Agent, null=True, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="tokens")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(agent__isnull=False, user__isnull=True) | Q(agent__isnull=True, user__isnull=False),
                name="token_is_of_an_agent_or_a_person",
            )
        ]


class SignInLink(models.Model):
    """A link that signs one person in, once."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Conversation(models.Model):
    """One chat between people and one agent. The agent calls it by its `key` (`sessionKey`).

    `seq` counts everything that starts or ends here; `event_count` and `event_head` are the end of the
    hash chain of prompt events. Both only move under this row's lock.
    """

    uid = models.CharField(max_length=22, unique=True, default=new_uid, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="conversations")
    key = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True, default="")
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    # When something was last said that everybody here may read: the order of lists tells nobody of a hidden prompt.
    active_at = models.DateTimeField()
    # The time of the newest row, whoever may see it: rows sort by time.
    stamped_at = models.DateTimeField()
    generation = models.PositiveIntegerField(default=1)
    sessionless = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True)
    read_only = models.BooleanField(default=False)
    seq = models.BigIntegerField(default=0)
    event_count = models.BigIntegerField(default=0)
    event_head = models.CharField(max_length=64, default="0" * 64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="one_conversation_per_agent_and_key")]
        indexes = [
            # Reader: queries.conversations_of (the list beside every page), newest first.
            models.Index(fields=["-active_at"], name="conversation_list"),
        ]

    def __str__(self) -> str:
        return self.title or self.key


class Stream(models.Model):
    """What one audience of a conversation may see. `audience` empty and `prompts` false: everyone in it.

    With `prompts` true: the prompts of runs that act for `audience` (nobody: admins only). `version` grows
    by one per transaction; `announced` is what the worker loop has told every page of (design rule 3).
    """

    uid = models.CharField(max_length=22, unique=True, default=new_uid, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="streams")
    prompts = models.BooleanField(default=False)
    audience = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    version = models.BigIntegerField(default=0)
    announced = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "prompts", "audience"], name="one_stream_per_audience"),
            models.UniqueConstraint(
                fields=["conversation", "prompts"], condition=Q(audience=None), name="one_stream_without_audience"
            ),
        ]
        indexes = [
            # Reader: the worker loop, for pages that were not told of a commit.
            models.Index(fields=["id"], condition=Q(version__gt=models.F("announced")), name="stream_unannounced"),
        ]


class Membership(models.Model):
    """A person's part in a conversation, beside its agent's owner and the admins."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        PARTICIPANT = "participant"

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.PARTICIPANT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "user"], name="one_membership_per_person")]


class Run(models.Model):
    """One agent turn. It acts for a person fixed by the server when it opens, and always has a deadline."""

    class Kind(models.TextChoices):
        MAIN = "main"
        SUBAGENT = "subagent"

    class Status(models.TextChoices):
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        ABORTED = "aborted"

    client_id = models.CharField(max_length=128)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="runs")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="runs")
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.MAIN)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.RUNNING)
    end_reason = models.CharField(max_length=32, blank=True, default="")
    acts_for = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    trigger_message = models.ForeignKey("Message", null=True, on_delete=models.SET_NULL, related_name="+")
    recovery_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="recoveries")
    generation = models.PositiveIntegerField(default=1)
    started_seq = models.BigIntegerField()
    ended_seq = models.BigIntegerField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField()
    # A row whose sweep threw is pushed ahead, so that it cannot stop the loop.
    held_until = models.DateTimeField(null=True)
    sweep_error = models.TextField(blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "client_id"], name="run_id_is_the_agents_own")]
        indexes = [
            # Reader: the worker loop, for runs past their deadline.
            models.Index(fields=["deadline_at"], condition=Q(status="running"), name="run_deadline"),
            # Reader: asks and pages, for the live runs of a conversation.
            models.Index(fields=["conversation", "status"], name="run_by_conversation"),
        ]


class Message(models.Model):
    """A row of saved history. Nothing is confirmed that is not one.

    `stream` says who may see it, `version` the stream's version that last changed how it looks, `seq` its
    place in the conversation (never shown: a gap would tell of a hidden prompt, design rule 8).
    """

    class Kind(models.TextChoices):
        PERSON = "person"
        REPLY = "reply"
        COMMENTARY = "commentary"
        PROMPT = "prompt"

    uid = models.CharField(max_length=22, unique=True, default=new_uid, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="messages")
    version = models.BigIntegerField()
    seq = models.BigIntegerField()
    generation = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    author = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="messages")
    reply_to = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField()
    # An answer that the agent turned out to have accepted after another had settled its question.
    late = models.BooleanField(default=False)
    # Unique in the conversation, so that a repeat finds the first; empty when the sender named none.
    idempotency_key = models.CharField(max_length=200, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="message_place"),
            models.UniqueConstraint(fields=["conversation", "idempotency_key"], name="message_saved_once"),
        ]
        indexes = [
            # Reader: live catch-up, for the rows of a stream changed since a version.
            models.Index(fields=["stream", "version"], name="message_changed_since"),
            # Reader: the fold of a run's work, and the end of a run.
            models.Index(fields=["run", "kind"], condition=Q(run__isnull=False), name="message_of_run"),
        ]

    def as_record(self) -> dict[str, Any]:
        """The message on the wire."""
        return {
            "id": self.uid,
            "kind": self.kind,
            "text": self.text,
            "author": self.author.username if self.author else None,
            "runId": self.run.client_id if self.run else None,
            "replyTo": self.reply_to.uid if self.reply_to else None,
            "createdAt": wire_time(self.created_at),
        }


class ComposerDraft(models.Model):
    """What a person has typed for a conversation and not sent. Its tabs and alternates: controlui.chat.alternates."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    text = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=0)
    tab = models.CharField(max_length=64, blank=True, default="")
    tabs = models.JSONField(default=dict)
    alternates = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "user"], name="one_composer_draft_per_person")]


def wire_time(moment: dt.datetime | None) -> str | None:
    """RFC 3339 in UTC with milliseconds, as every time on the wire."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
