"""JSON over HTTP to one address: connections that stay open, patience with a busy server, and one clear error.

Redirects are not followed: the key would go to an address that nobody gave it to.
"""

from __future__ import annotations

import itertools
import json
import random
import ssl
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hmrouter.errors import EndpointError, UsageError
from hmrouter.printable import printable

EXAMPLE = "http://localhost:8000/v1"
LONGEST_WAIT = 60.0
"""Seconds before a retry, whatever the server asks for."""
LONGEST_REASON = 240
"""Characters of what a server says that are repeated in an error."""
LARGEST_ANSWER = 2**28
"""Bytes; a full batch of the longest vectors in use is far below."""


def parse_address(url: str) -> SplitResult:
    """Find the endpoint behind a base address such as a client of OpenAI takes.

    >>> parse_address("http://localhost:8000/v1").path, parse_address("https://example.org").path
    ('/v1/embeddings', '/v1/embeddings')
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        usable = False
    # What cannot be read may hold a password, so no message repeats the address.
    if not usable or not (url.isascii() and url.isprintable()) or " " in url:
        raise UsageError(f"the address of the embeddings endpoint cannot be read; write it like {EXAMPLE}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            "the address of the embeddings endpoint holds a user, a password or a query; give the plain address, "
            "and the key in the environment variable HMROUTER_EMBEDDINGS_API_KEY"
        )
    path = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=path if path.endswith("/embeddings") else f"{path}/embeddings")


def pause(attempt: int, asked: float | None) -> float:
    """Give the seconds to wait after failed attempt 1, 2, ...: what the server asks for, else doubling, with jitter."""
    if asked is not None:
        return min(asked, LONGEST_WAIT)
    return min(0.5 * 2.0 ** min(attempt - 1, 10), LONGEST_WAIT) * random.uniform(0.5, 1.0)


def retry_after(value: str | None, now: float) -> float | None:
    """Read the seconds that a Retry-After header means: a number or a date; None without or with neither.

    >>> retry_after("7", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50.0), retry_after("soon", 0.0)
    (7.0, 10.0, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value) if value.strip().isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    reason: str
    wait: float | None
    content: bytes

    def said(self, key: str) -> str:
        """The server's reason for its refusal, on one short line that does not hold the key, in whole or in part."""
        text: Any = self.content.decode("utf-8", "replace")
        with suppress(ValueError):
            text = json.loads(text)
        for name in ("error", "message", "detail"):
            text = text.get(name, text) if isinstance(text, dict) else text
        words = f"{self.reason}: {text}" if str(text).strip() else self.reason
        if key:  # before anything is cut off: a part of a key is a secret, too
            words = words.replace(key, "***")
        line = printable(" ".join(words.split()))
        return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"


class JsonEndpoint:
    """An address that JSON is posted to. Threads may share one; each takes a connection of its own."""

    def __init__(self, url: str, *, timeout: float, retries: int) -> None:
        self._address = parse_address(url)
        self._timeout = timeout
        self._retries = retries
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return self._address.netloc

    def post(self, document: Any, *, key: str = "") -> Any:
        """Post a document and return the answer, both JSON; tried again after 429, 5xx and lost connections."""
        body = json.dumps(document).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        for attempt in itertools.count(1):
            wait, cause = None, None
            try:
                reply = self._exchange(body, headers)
            except ssl.SSLCertVerificationError as e:
                problem = f"has a certificate that is not trusted ({e.verify_message})"
                raise self._failure(problem, "set SSL_CERT_FILE to the certificate of its authority") from e
            except (OSError, HTTPException) as e:
                problem, cause = self._lost(e), e
            else:
                if reply.status == 200:
                    return self._parsed(reply.content)
                problem, wait = f"answered {reply.status} {reply.said(key)}", reply.wait
                if reply.status != 429 and reply.status < 500:
                    raise self._failure(problem, _NEXT.get(reply.status, _CHECK))
            if attempt > self._retries:
                raise self._failure(f"{problem}, {attempt} times" if attempt > 1 else problem) from cause
            time.sleep(pause(attempt, wait))
        raise AssertionError  # the loop has no other end

    def _lost(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"did not answer within {self._timeout:g} seconds"
        return f"cannot be reached ({str(error) or type(error).__name__})"

    def _exchange(self, body: bytes, headers: dict[str, str]) -> _Reply:
        while True:
            try:
                connection, kept = self._idle.pop(), True
            except IndexError:
                connection, kept = self._connection(), False
            try:
                connection.request("POST", self._address.path, body, headers)
                response = connection.getresponse()
                content = response.read(LARGEST_ANSWER + 1)
            except BaseException as e:
                connection.close()
                if kept and isinstance(e, ConnectionError):
                    continue  # the server closed it while it was idle, which is no failure
                raise
            if len(content) > LARGEST_ANSWER:
                connection.close()
                raise self._failure(f"answered more than {LARGEST_ANSWER:,} bytes")
            self._idle.append(connection)
            wait = retry_after(response.headers.get("Retry-After"), time.time())
            return _Reply(response.status, response.reason, wait, content)

    def _connection(self) -> HTTPConnection:
        kind = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
        return kind(str(self._address.hostname), self._address.port, timeout=self._timeout)

    def _parsed(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as e:
            raise self._failure("answered something that is not JSON") from e

    def _failure(self, problem: str, next_step: str = "") -> EndpointError:
        return EndpointError(f"the embeddings endpoint at {self.host} {problem}; {next_step or _CHECK}")


_CHECK = "check that it runs, and HMROUTER_EMBEDDINGS_URL"
_NEXT = {
    400: "check HMROUTER_EMBEDDINGS_MODEL and _DIMS; for texts that are too long set HMROUTER_EMBEDDINGS_MAX_CHARS",
    401: "check the key in HMROUTER_EMBEDDINGS_API_KEY",
    403: "check the key in HMROUTER_EMBEDDINGS_API_KEY",
    404: "check HMROUTER_EMBEDDINGS_URL (it ends in /v1 for most servers) and HMROUTER_EMBEDDINGS_MODEL",
    413: "set HMROUTER_EMBEDDINGS_BATCH_SIZE or HMROUTER_EMBEDDINGS_MAX_CHARS lower",
    422: "set HMROUTER_EMBEDDINGS_BATCH_SIZE or HMROUTER_EMBEDDINGS_MAX_CHARS lower",
}


def _close(connections: list[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()
