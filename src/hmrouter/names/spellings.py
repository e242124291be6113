"""Look-up of canonical names by any spelling, for models or for harnesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hmrouter.errors import InputError

Forms = Callable[[str], tuple[str, ...]]
"""Name -> the forms to look it up by, the most exact first; the last one is its regular form."""


class Spellings:
    """Knows all spellings of models, or of harnesses; a later layer wins over an earlier one."""

    def __init__(self, kind: str, forms: Forms, layers: Iterable[Mapping[str, Sequence[str]]]) -> None:
        self._forms = forms
        self._memo: dict[str, tuple[str, bool]] = {}
        merged: dict[str, str] = {}
        for layer in layers:
            merged |= self._spellings(kind, layer)
        # A user may alias away a shipped canonical name; its shipped aliases have to follow.
        self._canonical = {key: merged[_key(name)] for key, name in merged.items()}
        self.known = frozenset(self._canonical.values())

    def resolve(self, name: str) -> tuple[str, bool]:
        """Find the canonical name, and whether a layer knows it. A million rows ask for a hundred names: remembered."""
        found = self._memo.get(name)
        if found is None:
            found = self._memo[name] = self._look_up(name)
        return found

    def _look_up(self, name: str) -> tuple[str, bool]:
        forms = self._forms(name)
        for form in forms:
            if (canonical := self._canonical.get(_key(form))) is not None:
                return canonical, True
        return forms[-1], False

    def _spellings(self, kind: str, layer: Mapping[str, Sequence[str]]) -> dict[str, str]:
        spellings: dict[str, str] = {}
        for name, others in layer.items():
            canonical = self._forms(name)[-1]
            for form in (canonical, *(self._forms(other)[0] for other in others)):
                if (owner := spellings.setdefault(_key(form), canonical)) != canonical:
                    raise InputError(
                        f"{kind} {form!r} is given to both {owner!r} and {canonical!r}; keep one of the two"
                    )
        return spellings


def _key(form: str) -> str:
    """Drop the separators before names are compared: `OpenHands`, `Open Hands` and `open_hands` are one."""
    return form.replace("-", "")
