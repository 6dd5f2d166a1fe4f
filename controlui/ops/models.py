"""One row per worker loop, so that anybody can see whether one is alive. Written by worker.py only."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """The last sign of life of one worker loop: in the server's own process, or in one of its own.

    `shares_layer` says whether its channel layer reaches other processes (Redis). Two that do not may
    not run on one database: pages of one would never hear of changes made in the other.
    """

    class Place(models.TextChoices):
        EMBEDDED = "embedded"
        SEPARATE = "separate"

    name = models.CharField(max_length=120, unique=True)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    place = models.CharField(max_length=8, choices=Place.choices)
    shares_layer = models.BooleanField()
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    error = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return self.name
