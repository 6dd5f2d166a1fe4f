"""Who gets past the door at all. What a caller may see and do is decided by `access`, never here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports us, as it reads the settings


class IsKnownActor(BasePermission):
    """A caller with a valid token."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether a token stands behind the request."""
        return request.auth is not None
