"""The errors of whoever checks an attempt: tests, a judge, a person."""

from __future__ import annotations

from dataclasses import dataclass

from hmrouter.errors import UsageError


@dataclass(frozen=True, slots=True)
class VerifierErrors:
    """How often a check passes what is wrong and fails what is right.

    >>> VerifierErrors(0.6, 0.4)
    Traceback (most recent call last):
    ...
    hmrouter.errors.UsageError: a verifier that passes 0.6 of what is wrong and fails 0.4 of what is right tells \
no more than a coin: their sum must be below 1; give a better one, or use a single attempt
    """

    false_pass: float = 0.0
    """Share of wrong answers that it passes; such an answer is delivered."""
    false_fail: float = 0.0
    """Share of right answers that it fails; such an answer is not delivered."""

    def __post_init__(self) -> None:
        for name in ("false_pass", "false_fail"):
            if not 0.0 <= getattr(self, name) <= 1.0:  # also refuses NaN
                raise UsageError("is not a share from 0 to 1", argument=name, value=getattr(self, name))
        if self.false_pass + self.false_fail >= 1.0:
            raise UsageError(
                f"a verifier that passes {self.false_pass:g} of what is wrong and fails {self.false_fail:g} of what is "
                "right tells no more than a coin: their sum must be below 1",
                hint="fewer_attempts",
            )
