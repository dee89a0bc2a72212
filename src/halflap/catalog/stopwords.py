"""Words that say nothing of what a tool does: without accents, as search compares them."""

from __future__ import annotations

__all__ = ["STOP_WORDS"]

# English, with what people ask for help with.
_ENGLISH = """
    a about after again all also am an and another any are as at be been before being between both but by can
    could did do does done during each either else etc every for from further get gets give had has have having
    he help her here his how i if in into is it its just let lets like make may me might mine more most must my
    need needs no nor not of off on once one ones only onto or other our ours out over own per please same shall
    she should show so some such sure tell than that the their them then there these they this those through to
    too under up us use used uses using very via want wanted wants was we were what when where which who whom
    whose why will with would you your yours
"""
# Of other languages only the most frequent, and none that is a word of its own in English, such as `die`. In a
# catalogue where few tools speak the language, they would seem to be rare, and so to say much.
_GERMAN = "der das den dem des ein eine einen einem einer eines und oder fur von vom zu zum zur mit auf wie ich wird bitte"
_FRENCH = "le la les un une de des et au aux pour dans avec est qui que ce cette"
_SPANISH = "el los las una unos unas del por para con que"
_RUSSIAN = "и в во на с со к ко по за из от до для о об у не что как это мне я мы или при"  # noqa: RUF001
_ARABIC = "في من عن علي الي هذا هذه ما مع ان او"

STOP_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_RUSSIAN} {_ARABIC}".split())
