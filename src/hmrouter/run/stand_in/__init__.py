"""A stand-in for model services: harnesses run for real against it, without a key and without a bill.

It speaks Anthropic's messages, OpenAI's chat completions and OpenAI's responses. A task asks it for files,

    Write "hello.txt" with: hello

and it writes them through whichever tools the harness offers. Each model name has a `Behaviour`: it may solve every
task or only some, answer wrongly, fail with an API error, or never answer.

    behaviour.py   what a model does
    tools.py       a file into a call of one of the harness's tools
    messages.py, chat.py, responses.py   the three wire formats
    server.py      the HTTP server
"""

from hmrouter.run.stand_in.behaviour import Behaviour, files_asked_for
from hmrouter.run.stand_in.server import StandIn

__all__ = ["Behaviour", "StandIn", "files_asked_for"]
