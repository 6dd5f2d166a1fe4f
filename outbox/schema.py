"""The wire form of what agents say about deliveries (design section 5). Pure Python: no Django."""

from __future__ import annotations

from dataclasses import dataclass

from controlui.rest.shape import UNSTORABLE, Check

LEASE = "[A-Za-z0-9_-]{1,64}"
DELIVERY_ID = "[A-Za-z0-9_-]{1,64}"
ERROR_MAX = 500


@dataclass(frozen=True, slots=True)
class Ack:
    """What an agent says of a delivery that it leased; `error` is a sentence for people."""

    lease: str
    accepted: bool
    error: str = ""


def parse_ack(data: object) -> Ack:
    """The body of an ack. Raises Faults with every rule it breaks."""
    check = Check()
    body = check.mapping(data, "", ("lease", "accepted", "error")) or {}
    lease = check.matching(body, "", "lease", LEASE, required=True) or ""
    accepted = body.get("accepted")
    if check.given(body, "", "accepted", required=True) and not isinstance(accepted, bool):
        check.fault("accepted", "type", "This must be true or false.", expected="boolean")
    error = body.get("error", "")
    if not isinstance(error, str):
        check.fault("error", "type", "This must be a text.", expected="string")
    elif UNSTORABLE.search(error):
        check.fault("error", "character", "This text has a NUL or a lone surrogate.")
    elif len(error) > ERROR_MAX:
        check.fault("error", "length", f"An error has at most {ERROR_MAX} characters.", limit=ERROR_MAX)
    elif error and accepted is True:
        check.fault("error", "combination", "Only a refusal carries an error.")
    check.done()
    return Ack(lease, accepted is True, error if isinstance(error, str) else "")


def parse_lease(data: object) -> str:
    """The lease that a body names. Raises Faults."""
    check = Check()
    body = check.mapping(data, "", ("lease",)) or {}
    lease = check.matching(body, "", "lease", LEASE, required=True) or ""
    check.done()
    return lease
