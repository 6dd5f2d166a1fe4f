"""Who may see and answer a prompt; unknown and forbidden look alike (design rule 8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlui.chat.access import Actor, conversations_for, get_conversation_for, people_of, visible_streams
from controlui.chat.models import Agent, Conversation, Stream, User
from controlui.chat.transitions import create_agent, create_user, open_conversation, open_run
from controlui.errors import Forbidden, NotFound
from outbox.transitions import enqueue
from questions.access import get_prompt_for, prompts_for
from questions.errors import AgentCannotAnswer
from questions.models import Prompt
from questions.queries import waiting_total

Asks = Callable[..., Prompt]


@pytest.fixture
def cast(ana: User, ben: User, vic: User, sam: User, agent: Agent) -> dict[str, Actor]:
    """Everybody, and another agent."""
    stranger = create_agent(name="stranger")
    people = {user.username: Actor(user=user) for user in (ana, ben, vic, sam)}
    return {**people, "agent": Actor(agent=agent), "stranger": Actor(agent=stranger), "nobody": Actor()}


def who_sees(cast: dict[str, Actor], prompt: Prompt) -> set[str]:
    """Whose call for the prompt's id finds it; the list must say the same."""
    seeing = set()
    for name, actor in cast.items():
        listed = prompts_for(actor).filter(pk=prompt.pk).exists()
        try:
            found = get_prompt_for(actor, prompt.uid) == prompt
        except NotFound:
            found = False
        assert listed == found, name
        if found:
            seeing.add(name)
    return seeing


def test_a_prompt_of_a_shared_conversation(ask: Asks, cast: dict[str, Actor]) -> None:
    assert who_sees(cast, ask()) == {"ana", "ben", "agent"}


def test_a_sessionless_prompt_is_for_admins(ask: Asks, cast: dict[str, Actor]) -> None:
    assert who_sees(cast, ask(sessionKey=None)) == {"ana", "agent"}


def test_a_guest_sees_only_what_runs_acting_for_them_ask_in_their_own_conversation(
    ask: Asks, cast: dict[str, Actor], agent: Agent, vic: User, agent_accepts: Callable[[], int]
) -> None:
    own = open_conversation(agent=agent, key="vics", created_by=vic)
    own.memberships.create(user=vic, role="participant")
    delivery, _created = enqueue(conversation=own, author=vic, text="please ask me", key="k")
    assert agent_accepts() == 1
    run, _opened = open_run(agent=agent, session_key="vics", trigger_message_id=delivery.uid)
    assert run.acts_for == vic
    for_vic = ask(sessionKey="vics", runId=run.client_id)
    assert who_sees(cast, for_vic) == {"ana", "agent", "vic"}
    assert who_sees(cast, ask(sessionKey="vics")) == {"ana", "agent"}
    assert waiting_total(cast["vic"]) == 1


def test_a_guest_in_somebody_elses_conversation_sees_messages_but_no_prompt(
    ask: Asks, cast: dict[str, Actor], conversation: Conversation
) -> None:
    ask()
    assert conversation in conversations_for(cast["vic"])
    assert [stream.prompts for stream in visible_streams(cast["vic"], conversation)] == [False]
    assert [stream.prompts for stream in visible_streams(cast["ben"], conversation)] == [False, True]
    assert waiting_total(cast["vic"]) == 0


def test_an_agent_never_answers(ask: Asks, cast: dict[str, Actor]) -> None:
    prompt = ask()
    with pytest.raises(AgentCannotAnswer):
        get_prompt_for(cast["agent"], prompt.uid, need="answer")
    with pytest.raises(NotFound):
        get_prompt_for(cast["stranger"], prompt.uid, need="answer")
    with pytest.raises(Forbidden):
        get_prompt_for(cast["ana"], prompt.uid, need="withdraw")


def test_a_deactivated_person_sees_nothing(ask: Asks, ana: User) -> None:
    prompt = ask()
    ana.is_active = False
    ana.save(update_fields=["is_active"])
    with pytest.raises(NotFound):
        get_prompt_for(Actor(user=ana), prompt.uid)
    assert not conversations_for(Actor(user=ana)).exists()


def test_conversations_of_others_do_not_exist(cast: dict[str, Actor], conversation: Conversation) -> None:
    for name in ("sam", "stranger", "nobody"):
        with pytest.raises(NotFound):
            get_conversation_for(cast[name], conversation.uid)
    with pytest.raises(Forbidden):
        get_conversation_for(cast["vic"], conversation.uid, need="write")
    for name in ("ana", "ben", "agent"):
        assert get_conversation_for(cast[name], conversation.uid, need="write") == conversation


def test_the_same_agent_id_in_two_agents_is_never_mixed_up(ask: Asks, ana: User, agent: Agent) -> None:
    from questions import schema
    from questions.transitions import open_prompt

    other = create_agent(name="other", owner=ana)
    mine = ask(id="shared-id-0000001")
    body = {"questions": [], "sessionKey": "main", "id": "shared-id-0000001"}
    parsed = schema.parse_ask(
        {
            **body,
            "questions": [{"id": "q", "header": "Q", "question": "Q?", "options": [{"label": "A"}, {"label": "B"}]}],
        }
    )
    theirs, _created = open_prompt(agent=other, ask=parsed, body_digest="1" * 64)
    assert get_prompt_for(Actor(agent=agent), "shared-id-0000001") == mine
    assert get_prompt_for(Actor(agent=other), "shared-id-0000001") == theirs
    assert get_prompt_for(Actor(user=ana), theirs.uid) == theirs
    with pytest.raises(Exception, match="Several agents"):
        get_prompt_for(Actor(user=ana), "shared-id-0000001")


def test_those_who_must_learn_of_a_new_stream(conversation: Conversation, ana: User, ben: User, vic: User) -> None:
    create_user(username="zoe", group="operators")
    assert {person.username for person in people_of(conversation)} == {"ana", "ben", "vic"}
    assert Stream.objects.filter(conversation=conversation).count() == 1
