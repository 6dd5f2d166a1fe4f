"""Deliveries: what must reach an agent. Whatever a person sends is one row, saved in history at most once."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlui.chat.ids import new_uid
from controlui.chat.models import Conversation, Message


class Delivery(models.Model):
    """One message on its way. `key` is made when the form is drawn: the same press, repeated, is this row.

    `about` is the prompt that it answers (its uid, and the id that the agent knows), `answers` the structured values
    beside the text. `lease` names the attempt under way, which must be over by `lease_until`.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        SENDING = "sending"
        CONFIRMED = "confirmed"
        FAILED = "failed"
        UNCONFIRMED = "unconfirmed"
        DISCARDED = "discarded"

    uid = models.CharField(max_length=22, unique=True, default=new_uid, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="deliveries")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    # Of the text as it was first sent: it may be edited while it is queued, and a repeat of the press still finds it.
    text_digest = models.CharField(max_length=64, blank=True, default="")
    text = models.TextField()
    about = models.CharField(max_length=22, blank=True, default="")
    about_wire_id = models.CharField(max_length=128, blank=True, default="")
    answers = models.JSONField(null=True)
    reply_to = models.ForeignKey(Message, null=True, on_delete=models.SET_NULL, related_name="+")
    status = models.CharField(max_length=11, choices=Status.choices, default=Status.QUEUED)
    status_at = models.DateTimeField()
    # The version of its stream (`transitions.stream_of`) that last changed how it looks.
    version = models.BigIntegerField(default=0)
    message = models.OneToOneField(Message, null=True, on_delete=models.RESTRICT, related_name="delivery")
    created_at = models.DateTimeField()
    # Not before this moment; later than `created_at` only between two attempts of a webhook.
    due_at = models.DateTimeField()
    # Attempts since it was last put into the queue by a person.
    tries = models.PositiveSmallIntegerField(default=0)
    # Whether an agent may have seen it: then its text is fixed.
    sent = models.BooleanField(default=False)
    lease = models.CharField(max_length=22, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    # For machines; `error` is what the agent itself said. Pages make a sentence of either (outbox.words).
    error_code = models.CharField(max_length=32, blank=True, default="")
    error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "key"], name="one_delivery_per_key"),
            # First in, first out: whatever the races, one at a time is on its way.
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(status="sending"), name="one_delivery_under_way"
            ),
            models.CheckConstraint(
                condition=~Q(status="confirmed") | Q(message__isnull=False), name="confirmed_is_in_history"
            ),
        ]
        indexes = [
            # Reader: pages, for what is not in history yet; claims, for the first in line.
            models.Index(
                fields=["conversation", "id"],
                condition=Q(status__in=["queued", "sending", "failed", "unconfirmed"]),
                name="delivery_not_settled",
            ),
            # Reader: the worker loop and the inbox, for what is due.
            models.Index(fields=["due_at"], condition=Q(status="queued"), name="delivery_due"),
            # Reader: the worker loop, for attempts that were never ended.
            models.Index(fields=["lease_until"], condition=Q(status="sending"), name="delivery_stuck"),
            # Reader: the summary of a prompt.
            models.Index(fields=["about"], condition=~Q(about=""), name="delivery_about"),
        ]


class Attempt(models.Model):
    """One try to hand a delivery over. Kept for ever; an acceptance counts with the lease of any of them."""

    class Transport(models.TextChoices):
        INBOX = "inbox"
        WEBHOOK = "webhook"

    class Outcome(models.TextChoices):
        UNDER_WAY = ""
        ACCEPTED = "accepted"
        REFUSED = "refused"
        FAILED = "failed"
        UNCONFIRMED = "unconfirmed"
        RELEASED = "released"

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    transport = models.CharField(max_length=7, choices=Transport.choices)
    lease = models.CharField(max_length=22, unique=True, default=new_uid)
    outcome = models.CharField(max_length=11, choices=Outcome.choices, blank=True, default="")
    error_code = models.CharField(max_length=32, blank=True, default="")
    error = models.CharField(max_length=500, blank=True, default="")
    http_status = models.PositiveSmallIntegerField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["delivery", "number"], name="attempt_number")]
