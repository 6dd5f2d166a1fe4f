"""Django's sessions in the database, for cookies that anybody may write."""

from __future__ import annotations

from django.contrib.sessions.backends import db

from .ids import can_exist


class SessionStore(db.SessionStore):
    """A key that no session can have is no key."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Django's rule, and no NUL: PostgreSQL does not even look for one."""
        return bool(key and len(key) >= 8 and can_exist(key))
