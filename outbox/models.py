"""Deliveries: what must reach an agent. Whatever a person sends is one row, saved in history at most once."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlui.chat.ids import new_uid
from controlui.chat.models import Conversation, Message


class Delivery(models.Model):
    """One message on its way. `key` is made when the form is drawn: the same press, repeated, is this row."""

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
    text = models.TextField()
    reply_to = models.ForeignKey(Message, null=True, on_delete=models.SET_NULL, related_name="+")
    status = models.CharField(max_length=11, choices=Status.choices, default=Status.QUEUED)
    message = models.OneToOneField(Message, null=True, on_delete=models.SET_NULL, related_name="delivery")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "key"], name="one_delivery_per_key")]
