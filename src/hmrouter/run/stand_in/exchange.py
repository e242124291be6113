"""One request to a model and its answer, whatever the wire format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hmrouter.run.stand_in.behaviour import Behaviour, files_asked_for
from hmrouter.run.stand_in.tools import SUBMIT, Call, Tool, call_for, folder_of, shell_call


@dataclass(frozen=True, slots=True)
class Request:
    """What a harness asks of a model."""

    model: str
    texts: Sequence[str]
    """Everything it says: system prompt, task, results."""
    tools: Sequence[Tool]
    results: int
    """How many results of tool calls it reports."""
    stream: bool

    @property
    def task(self) -> str:
        """The text that asks for files, "" where none does."""
        return next((text for text in self.texts if files_asked_for(text)), "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model answers: a tool call or a text."""

    call: Call | None
    text: str
    behaviour: Behaviour


def answer_to(request: Request, behaviour: Behaviour) -> Answer:
    """Write the next file that the task asks for, or say that it is done."""
    files = list(behaviour.files(request.task).items())
    call = None
    if request.tools and request.results < len(files):
        path, content = files[request.results]
        call = call_for(path, content, request.tools, folder_of(request.texts), behaviour.with_shell)
    elif request.tools and any(SUBMIT.split()[1] in text for text in request.texts):
        call = shell_call(SUBMIT, request.tools)
    text = as_text(files) if files and not request.tools else "Done."
    return Answer(call, "" if call else text, behaviour)


def as_text(files: Sequence[tuple[str, str]]) -> str:
    r"""Write files as edit blocks, for a harness that takes its edits from the text of an answer.

    >>> as_text([("a.txt", "one\n")])
    'a.txt\n```\n<<<<<<< SEARCH\n=======\none\n>>>>>>> REPLACE\n```\n'
    """
    return "".join(f"{path}\n```\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n```\n" for path, text in files)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
