"""The laws that every scorer obeys, as product code: a plug-in is held to what the built-in scorers are held to.

    from hmrouter.checks import LAWS, check_scorer

    check_scorer(MyScorer)                                    # raises CheckFailed at the first broken law

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
    def test_my_scorer(law):
        law.check(MyScorer)                                   # or law by law

The data sets are tiny and the same every time. A slow scorer is checked with a factory that makes it quick, such as
`lambda: HM(epochs=5)`; what is checked does not depend on how well it has learned.
"""

from hmrouter.checks.laws import LAWS, Law, check_scorer
from hmrouter.checks.world import CheckFailed, Make

__all__ = ["LAWS", "CheckFailed", "Law", "Make", "check_scorer"]
