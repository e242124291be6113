"""Which addresses are stores, and how they are shown without their password."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from hmrouter.errors import StoreError, UsageError

FORMS = "sqlite:///runs.db or postgresql+psycopg://user@host/database"

# `postgres` and `postgresql` are what hosting services hand out; without a driver they would mean psycopg 2.
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def parse(text: str) -> URL:
    """The store's address, or a refusal that names the right form.

    >>> parse("postgres://me@db.example/runs").drivername
    'postgresql+psycopg'
    >>> parse("runs.db")
    Traceback (most recent call last):
    hmrouter.errors.UsageError: 'runs.db' is not a store address; write sqlite:///runs.db
    """
    if "://" not in text:
        if "@" in text:  # may be an address with its password
            raise UsageError(f"the store address has no scheme; write {FORMS}")
        raise UsageError(f"{text!r} is not a store address; write sqlite:///{text or 'runs.db'}")
    scheme = text.partition("://")[0]
    if scheme not in _DRIVERS:
        raise StoreError(f"{scheme!r} is not a database that a store can be in; write {FORMS}")
    try:
        url = make_url(text).set(drivername=_DRIVERS[scheme])
    except (ArgumentError, ValueError):
        # Nothing of the address is repeated here: the part that did not parse may be of the password.
        raise UsageError(f"the {scheme} address cannot be read; write {FORMS}") from None
    if url.drivername == "sqlite" and url.host:
        raise UsageError(f"{shown(url)} has two slashes; write sqlite:///{url.host} (four for an absolute path)")
    if url.drivername != "sqlite" and "@" in f"{url.host}{url.database}":
        raise UsageError("the password in the store address contains an '@'; write it as %40")
    return url


def shown(url: URL) -> str:
    """The address for messages: never with a password.

    >>> shown(parse("postgresql://me:secret@db.example/runs?sslpassword=secret"))
    'postgresql+psycopg://me:***@db.example/runs'
    """
    query = {key: value for key, value in url.query.items() if not _secret(key)}
    return url.set(query=query).render_as_string(hide_password=True)


def without_secrets(message: str, url: URL) -> str:
    """A database's message with any password of the address blotted out.

    >>> without_secrets("no entry for me:secret", parse("postgresql://me:secret@db.example/runs"))
    'no entry for me:***'
    """
    secrets = [url.password, *(value for key, value in url.query.items() if _secret(key))]
    for secret in secrets:
        if isinstance(secret, str) and secret:
            message = message.replace(secret, "***")
    return message


def sqlite_file(url: URL) -> Path | None:
    """The file that a SQLite address names; None for PostgreSQL and for a store in memory."""
    if url.drivername != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def _secret(key: str) -> bool:
    return "pass" in key.lower()
