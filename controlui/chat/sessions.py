"""Django's sessions in the database, for cookies that anybody may write."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from .ids import can_exist
from .prepared import Prepared

_sessions = Prepared(lambda key: Session.objects.filter(session_key=key), str)


class SessionStore(db.SessionStore):
    """A key that no session can have is no key."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Django's rule, and no NUL: PostgreSQL does not even look for one."""
        return bool(key and len(key) >= 8 and can_exist(key))

    def _get_session_from_db(self) -> Any:
        """The row of the key, while it lives; as Django finds it, compiled once."""
        session = next(iter(_sessions(self.session_key)), None)
        if session is not None and session.expire_date > timezone.now():
            return session
        self._session_key = None
        return None
