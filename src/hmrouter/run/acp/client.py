"""One prompt to one harness over the Agent Client Protocol; every event goes to standard output as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from hmrouter import __version__
from hmrouter.run.acp.policy import Policy, permitted

LONGEST_LINE = 2**26
"""Bytes of one message; asyncio's own limit is 64 KB, which a file in a message exceeds."""
SHUTDOWN = 2.0
"""Seconds for the harness to exit by itself once its work is done."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to do."""

    agent: Sequence[str]
    """The command that speaks the protocol."""
    cwd: str
    prompt: str
    policy: Policy = "edits"
    options: dict[str, str] = field(default_factory=dict)
    """Options of the session to set, such as the model, where the command has no argument for them."""


async def run(order: Order) -> None:
    """Carry out an order. The last event is `end` with the stop reason, or `error`."""
    workspace = Path(order.cwd)
    client: Any = _Answers(order.policy, workspace)  # the protocol's files and terminals were not offered to it
    transport = {"limit": LONGEST_LINE, "stderr": None, "shutdown_timeout": SHUTDOWN}
    started = spawn_agent_process(
        client, *order.agent, env=os.environ, cwd=workspace, transport_kwargs=transport, use_unstable_protocol=True
    )
    async with started as (agent, _):
        try:
            known = await agent.initialize(
                PROTOCOL_VERSION, ClientCapabilities(), Implementation(name="hmrouter", version=__version__)
            )
            emit("initialized", known)
            session = await agent.new_session(cwd=order.cwd, mcp_servers=[])
            emit("session", session)
            for name, value in order.options.items():
                await agent.set_config_option(name, session.session_id, value)
            answer = await agent.prompt(session_id=session.session_id, prompt=[text_block(order.prompt)])
            emit("end", answer)
        except RequestError as error:
            emit("error", {"code": error.code, "message": str(error), "data": error.data})
        except (ConnectionError, EOFError) as error:
            emit("error", {"code": None, "message": f"the harness closed the connection: {error}", "data": None})


class _Answers:
    """Answers what the harness asks of its client: permissions only, as it reads and writes files by itself."""

    def __init__(self, policy: Policy, workspace: Path) -> None:
        self._policy = policy
        self._workspace = workspace

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse:
        """Answer by the policy, always for this once."""
        paths = [location.path for location in tool_call.locations or ()]
        paths += [path for part in tool_call.content or () if (path := getattr(part, "path", None))]
        allowed = permitted(self._policy, tool_call.kind, paths, self._workspace)
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        by_kind = {option.kind: option for option in options}
        chosen = next((by_kind[kind] for kind in wanted if kind in by_kind), None)
        asked = {"kind": tool_call.kind, "title": tool_call.title, "paths": paths}
        emit("permission", {**asked, "answer": chosen.kind if chosen else "cancelled"})
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Pass an update on."""
        emit("update", update)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Decline what this client does not know."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Pass on what a harness says beyond the protocol."""
        emit("notification", {"method": method, "params": params})


def emit(event: str, content: Any) -> None:
    """Print an event."""
    plain = content if isinstance(content, dict) else content.model_dump(mode="json", by_alias=True, exclude_none=True)
    sys.stdout.write(json.dumps({"event": event, **plain}) + "\n")
    sys.stdout.flush()
