"""Asking a service which models it has: one request, no redirect, a few seconds, and the key shown to nobody else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from hmrouter.errors import EndpointError
from hmrouter.run.drivers.base import Endpoint

PATIENCE = 10.0
"""Seconds without an answer."""
LARGEST = 2**24
"""Bytes of an answer."""


def list_models(endpoint: Endpoint, environ: Mapping[str, str]) -> list[str]:
    """List the ids of a service's models; a refusal or silence is one `EndpointError`."""
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError("the address cannot be read; it begins with http:// or https://")
    key = environ.get(endpoint.key, "")
    if endpoint.style == "anthropic":
        headers, query = {"x-api-key": key, "anthropic-version": "2023-06-01"}, "?limit=1000"
    else:
        headers, query = {"Authorization": f"Bearer {key}"} if key else {}, ""
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        with closing(connect(parts.hostname, parts.port, timeout=PATIENCE)) as connection:
            connection.request("GET", f"{parts.path.rstrip('/')}/models{query}", headers=headers)
            with connection.getresponse() as answer:
                content = answer.read(LARGEST)
    except (OSError, HTTPException, ValueError) as error:  # ValueError: a key that no header can carry
        raise EndpointError(f"{parts.netloc} cannot be reached: {type(error).__name__}") from error
    if answer.status != 200:
        raise EndpointError(f"{parts.netloc} answered {answer.status} {answer.reason}")
    try:
        listed = json.loads(content)["data"]
        return [str(model["id"]) for model in listed]
    except (ValueError, TypeError, KeyError) as error:
        raise EndpointError(f"{parts.netloc} answered something that is no list of models") from error
