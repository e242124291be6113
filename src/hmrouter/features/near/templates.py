"""What is left of a text without the values that a template is filled with: numbers, dates, names, paths, addresses.

>>> template("Send Maria the report for March, 14:30").words == template("Send Ahmed the report for 3 June").words
True
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

SLOT = "\ue000"
"""Stands for a value, or for several in a row. A private character: no text means anything by it."""
HEAD, TAIL = 12_000, 4_000
"""Characters that are read of a text from its start and from its end; what lies between must be equal to the letter."""
FEWEST, FEWEST_TELLING = 3, 2
"""Words, and words not in `LITTLE`, that a text needs besides its values: "find the ... for" is no template."""
LITTLE = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "into", "is", "it", "its", "me", "my",
    "of", "on", "or", "our", "that", "the", "this", "to", "was", "we", "with", "you", "your",
})  # fmt: skip

# Scripts that put no space between words; there, a character serves as a word.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f"
SPACED = rf"[^\W{UNSPACED}]"
"""A letter, digit or underscore of a script that does."""
PATH = r"[/\\](?=[\w.])(?:[\w.~@%+-]+[/\\])*[A-Za-z0-9_.~@%+-]*"
MONTHS = "january february april june july august september october november december"
DAYS = "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight"

# Two ways to begin, a mark or the start of a word, so that most characters are passed over at once.
VALUE = re.compile(
    rf"""
    (?=["'`“《「『/\\~.])(?:
      "[^"\s]{{1,30}}(?:[ ][^"\s]{{1,30}}){{0,3}}"                       # quoted: a name or a title, not a question
    | “[^”\s]{{1,20}}(?:[ ][^”\s]{{1,20}}){{0,3}}”
    | (?<!\w)'[^'\s]{{1,30}}(?:[ ][^'\s]{{1,30}}){{0,3}}'(?!\w)
    | `[^`\s]{{1,60}}(?:[ ][^`\s]{{1,30}}){{0,3}}`
    | 《[^》\n]{{1,40}}》 | 「[^」\n]{{1,20}}」 | 『[^』\n]{{1,20}}』
    | (?<![A-Za-z0-9<])(?:~|\.{{1,2}})?{PATH}
    )
    | (?<!{SPACED})(?={SPACED})(?:
      https?://[^\s<>{UNSPACED}]+ | www\.[^\s<>{UNSPACED}]+ | [A-Za-z]:{PATH}
    | [A-Za-z0-9_.+-]{{1,64}}@\w[\w-]*(?:\.\w[\w-]*)+                          # an e-mail address
    | {SPACED}*\d{SPACED}*(?:[-.:/,]{SPACED}*\d{SPACED}*)*                # what has a digit: number, date, id, hash
    | (?:{SPACED}|[-/]){{1,100}}(?:\.{SPACED}+)*\.[A-Za-z]{SPACED}{{0,4}}\b        # a file or a host: report.pdf
    | (?:(?!_){SPACED})*_{SPACED}*                                       # an identifier
    | (?:(?i:{"|".join(f"{MONTHS} {DAYS}".split())})|March|May)\b
    )
    """,
    re.VERBOSE,
)
# Capitals within a sentence. At its start they say nothing: hence the word, comma or value before.
NAME = re.compile(rf"(?<=[\w,;){SLOT}] )(?!I['\u2019])[{UPPER}][\w'\u2019&-]+(?:[ ][{UPPER}][\w'\u2019&-]*)*")
GERMAN = re.compile(r"\b(der|das|und|ein|eine|einen|für|den|dem|mit|nicht|von|auf|zu|ist)\b", re.IGNORECASE)
"""German gives a capital to every noun, so there it does not tell a name."""
WORD = re.compile(rf"[{SLOT}{UNSPACED}]|[^\W_{UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Template:
    """The words of a text, with values replaced by `SLOT`, and what else must be equal for two texts to be alike."""

    words: list[str]
    """Empty if the text is hardly more than its values."""
    rest: str
    """The whole text if it has no `words`; a hash of the middle of a very long one."""

    @property
    def empty(self) -> bool:
        """Whether the text says nothing at all."""
        return not self.words and not self.rest


def template(text: str) -> Template:
    """Take the values out of a text. Case, white space and punctuation do not count."""
    rest = ""
    if len(text) > HEAD + TAIL:
        middle = text[HEAD:-TAIL].encode("utf-8", "surrogatepass")
        rest = hashlib.blake2b(middle, digest_size=16).hexdigest()
        text = text[:HEAD] + "\n" + text[-TAIL:]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    masked = VALUE.sub(SLOT, text)
    if masked != (named := NAME.sub(SLOT, masked)) and len(set(GERMAN.findall(masked))) < 2:
        masked = named
    words = WORD.findall(masked.lower())
    words = [word for word, before in zip(words, ["", *words], strict=False) if not word == before == SLOT]
    slots = words.count(SLOT)
    unspaced = sum(
        "\u0e00" <= word < "\uac00" or word >= "\U00020000" for word in words
    )  # two of these characters are about a word
    said = len(words) - slots - unspaced / 2
    little = sum(map(LITTLE.__contains__, words))
    if said < max(FEWEST, slots) or said - little < FEWEST_TELLING:
        return Template([], " ".join(text.split()) + rest)
    return Template(words, rest)
