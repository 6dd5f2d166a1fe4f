"""Makes people, agents and conversations in the database that the environment names; prints them as JSON.

`scene.py AGENTS PROMPTS GROUP`: run by common.scene in a process of its own, so that benchmarks stay free of Django.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")

import django

django.setup()

from common import QUESTION  # noqa: E402  (models load after Django is set up)
from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402

from controlui.chat import transitions as chat  # noqa: E402
from controlui.chat.ids import new_uid  # noqa: E402
from questions import schema  # noqa: E402
from questions.transitions import open_prompt  # noqa: E402


def place(group: str, prompts: int) -> dict[str, Any]:
    """One agent, its owner (signed in), and their conversation with pending prompts."""
    name = new_uid()
    person = chat.create_user(username=f"person-{name}", group=group)
    agent = chat.create_agent(name=f"agent-{name}", owner=person)
    conversation = chat.open_conversation(agent=agent, key="main")
    chat.say(agent=agent, session_key="main", text="I am **ready**, and will ask when something is unclear.")
    browser = Client()
    browser.force_login(person)
    body = {"questions": [QUESTION], "sessionKey": "main", "timeoutSeconds": 3600}
    asked = [
        open_prompt(agent=agent, ask=schema.parse_ask(body), body_digest=schema.body_digest(body))[0]
        for _number in range(prompts)
    ]
    return {
        "agent": chat.create_token(agent=agent),
        "session": "main",
        "uid": conversation.uid,
        "person": chat.create_token(user=person),
        "cookie": f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}",
        "prompts": [prompt.uid for prompt in asked],
    }


if __name__ == "__main__":
    number, pending, role = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print(json.dumps([place(role, pending) for _number in range(number)]))
