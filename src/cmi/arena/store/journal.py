"""The audit log: what was done to what, and when; never by name."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert

from cmi.arena.store.schema import audit, new_id


def note(
    connection: Connection, time: float, project: str | None, action: str, subject: str, detail: Mapping[str, Any]
) -> None:
    """Add a line in the transaction of what it is about. `detail` holds counts, states and ids, no personal data."""
    row = {"id": new_id(), "time": time, "project": project, "action": action, "subject": subject}
    connection.execute(insert(audit).values(**row, detail=dict(detail)))
