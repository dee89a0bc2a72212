"""Tell the parts of names from those of identifiers: where numbers may stand, and what no word looks like."""

from __future__ import annotations

import re

__all__ = ["is_word", "without_standards"]

_STANDARDS = re.compile(
    r"""
    (?<![^\W_])(?=[a-z48])(?:
        (?:iso|rfc)[-_]?\d{1,5}(?:[-_][123](?=[-_]alpha|\Z))?
      | sha3[-_]\d{3}|(?:sha|ripemd|keccak|hmac|aes|es|rs|ps|hs)[-_]?(?:128|160|192|224|256|384|512)|sha[-_]?[123]
      | utf[-_]?(?:7|8|16|32)|utf8mb[34]|base[-_]?(?:16|32|36|45|58|62|64|85|91)|b64|md[-_]?[2456]|rsa[-_]?\d{4}
      | (?:crc|adler|u?int|float|complex|fp|bits?|amd|arm|aarch|win|i|u|f|rgb|argb)[-_]?(?:8|16|24|32|64|128|256)|x86(?:[-_]64)?|x64
      | (?:bip|erc|eip)[-_]?\d{1,4}|isbn[-_]?1[03]|ean[-_]?(?:8|13)|ed25519|x25519|curve25519|secp256[kr]1|cp125\d|x\.?509
      | blake[23][bs]?|ipv[46]|oauth[12]|tls1[_.]?[0-3]|e\.?164|h26[345]|x26[45]|av1|vp[89]|mp[34]|4k|8k|bm25
      | pm(?:2[_.]?5|10|1)|co2|no2|so2|ch4|h2o|sp?o2|vo2|hba1c|[om]365|s3|ec2|k8s|i18n|l10n|a11y|n8n|web3
      | v\d{1,2}(?:(?:alpha|beta|rc)\d{0,2})?(?!\.)|fy\d\d|sp_?500|nasdaq_?100|russell_?[123]000|ftse_?100|dax_?[34]0|nikkei_?225
    )(?![0-9])(?=[^a-z]|[a-z]{3}|\Z)
    """,
    re.VERBOSE,
).finditer
"""What stands in names for itself: names of standards, formats, services and substances, and the like."""
_HUMPED_STANDARDS = re.compile(
    r"(?<=[a-z])(?:S(?:ha|HA)(?:1|256|384|512)|B(?:ase|ASE)(?:16|32|58|62|64)|M[dD]5|U(?:tf|TF)(?:8|16|32)"
    r"|I(?:so|SO)\d{1,5}|I(?:sbn|SBN)1[03]|(?:Int|Float)(?:8|16|32|64))(?![0-9])"
)


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MEASURES = _listed(
    "image img icon photo picture avatar thumb thumbnail logo cover banner size width height w h px top last past next "
    "first prev previous trailing rolling sma ema wma dma ma rsi atr p pct percent percentile quantile age over under "
    "max min avg mean http error status days hours minutes seconds weeks months years ratio scale retention within"
)
"""A number after these is a size or a span, which a server's author chose."""
_OWNED = _listed(
    "user usr customer cus cust client account acct order ord invoice member patient employee emp ticket payment txn "
    "transaction booking reservation session sess request subscription product sku uid tok token evt guest lead"
)
"""A number after these is whose or which: `user_4`, `order-x7`."""
_UNITS = _listed(
    "s m h d w y k g x p fa st nd rd th ms us ns cm mm km kg px hr hrs min sec mo yr wk mb gb kb tb bit hz mah"
)
_SHORT = _listed(
    "id ip is in of on to at by my no or as an us uk eu db os ui ux vm io pr ok tv go up do if it we be he me so am pm ai ml "
    "qr vs hd sd cc ci cd kv ns fs ms px pk fk gb mb kb qa hr ad by re ex un op on fn nr lg sm md xl xs en de fr es it pt "
    "ga gs vp py js ts rb tx rx"
)
_ODD = re.compile(
    r"(?=a[jq]|b[ghkqvwxz]|c[jqwx]|d[qxz]|f[hjkqvwxz]|g[bjkqvwxz]|h[bcfghjkpqvwxz]|i[hiw]|j[b-df-hj-np-rtv-z]|k[cjkpqvxz]"
    r"|l[jqwxz]|m[fghjqwxz]|n[qx]|o[q]|p[bjqvxz]|q[b-hj-rtv-z]|r[jqx]|s[jxz]|t[jkq]|u[hjkquw]|v[bdf-hj-np-rtuvwxz]"
    r"|w[bcfgjkmpqtuvwxz]|x[bghjknqruvwz]|y[hjkquvxyz]|z[bcdfgj-np-twxv])"
).findall
"""Pairs of letters that hardly a word has, in any of the languages that names are written in."""
_HEX = re.compile(r"(?=[a-f]*\d)[a-f0-9]{7,}|[a-f]{8,}").fullmatch
_MONTH = re.compile(
    r"(?i)(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|march|april|august|(?:janu|febru|septem|octo|novem|decem)[a-z]+)"
    r"\d*"
).fullmatch
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]").findall
_RUNS = re.compile(r"\d+|[^\W\d_]+").findall
_VOWELS = re.compile(r"[aeiouyAEIOUY]|[^\x00-\x7f]").search
_LONG = 6
"""In fewer letters there is nothing to be seen."""
_WORD = 3
_LONGEST_NUMBER = 3
_LONGEST_MEASURE = 4
_TWICE = 2


def without_standards(key: str) -> str:
    """Put a plain word for each standard that a key names."""
    rest = _HUMPED_STANDARDS.sub("Name", key)
    # Small letters are compared much faster than letters of either case.
    small = rest.lower()
    if len(small) == len(rest):
        for found in reversed(list(_STANDARDS(small))):
            rest = f"{rest[: found.start()]}Name{rest[found.end() :]}"
    return rest


def is_word(part: str, before: str, *, is_last: bool) -> bool:
    """Say whether a part of a key, letters and digits alone, may be of a name; `before` is the part before it."""
    if len(part) > _LONG and _HEX(part):
        return False
    if part.isalpha():
        return len(part) < _LONG or part.islower() or _strange(part) + (before.lower() in _OWNED) < _TWICE
    if part.isdecimal():
        return _is_number_of_name(part, before.lower(), is_last=is_last)
    runs = _RUNS(part)
    return len(runs) == 1 or (not _MONTH(part) and _is_mixed(runs, before.lower()))


def _is_mixed(runs: list[str], before: str) -> bool:
    """Say whether letters and numbers by turns may be of a name."""
    strange = sum(map(_strange, runs))
    if strange >= _TWICE or (before in _OWNED and not _ends_in_digit(runs)):
        return False
    if len(runs) == _TWICE:
        return _is_counted(runs) if runs[0].isdecimal() else _is_numbered(*runs)
    return not strange and _is_interrupted(runs)


def _ends_in_digit(runs: list[str]) -> bool:
    """Say whether it is a word with a digit after it: `user_address1`."""
    return len(runs) == _TWICE and len(runs[1]) == 1 and len(runs[0]) > _WORD


def _is_number_of_name(number: str, before: str, *, is_last: bool) -> bool:
    """Say whether a number that stands alone is one that was chosen: `address_1`, `last_30_days`, `image_512`."""
    if before in _OWNED or _MONTH(before):
        return False
    if before in _MEASURES:
        return len(number) <= _LONGEST_MEASURE
    return len(number) == 1 if is_last and before else len(number) <= _LONGEST_NUMBER


def _is_numbered(word: str, number: str) -> bool:
    """Take `line2`, `p95`, `top10`; not `HAT069`, `ab12`, `user42`."""
    if len(number) == 1:
        return len(word) <= _WORD + 1 or bool(_VOWELS(word))
    if _last_hump(word) in _MEASURES:
        return len(number) <= _LONGEST_MEASURE
    if len(number) > _TWICE or _last_hump(word) in _OWNED:
        return False
    if len(word) == 1:
        return True
    return len(word) >= _WORD and not word.isupper() and bool(_VOWELS(word))


def _is_counted(runs: list[str]) -> bool:
    """Take `24h`, `52WeekHigh`, `2fa`; not `12ab`."""
    number, word = runs
    if len(number) > _LONGEST_NUMBER:
        return False
    first = _HUMPS(word)[0]
    return first.lower() in _UNITS or (len(first) >= _WORD and not word.isupper() and bool(_VOWELS(word)))


def _is_interrupted(runs: list[str]) -> bool:
    """Take `file1Path`, `e2e`, `top10list`, `row1col2`; not `ab12cd`, `dQw4w9WgXcQ`."""
    words = [run for run in runs if not run.isdecimal()]
    longest = max(len(run) for run in runs if run.isdecimal())
    if (
        runs[0].isdecimal()
        or len(words) != _TWICE
        or longest > _TWICE
        or (len(words[0]) > 1 and words[0].isupper())
    ):
        return False
    left, right = words
    is_last = runs[-1] is right
    if not is_last and (longest > 1 or min(len(left), len(right)) < _WORD):
        return False
    hump = _HUMPS(right)[0]
    if len(left) == len(right) == 1 or (hump[0].isupper() and not hump.isupper() and len(hump) >= _WORD):
        return True
    if right in _UNITS and (left in _SHORT or len(left) >= _WORD):
        return True
    said = _VOWELS(left) and len(left) >= _WORD and not right.isupper()
    return bool(said and (longest == 1 if len(right) < _WORD else _VOWELS(right)))


def _last_hump(word: str) -> str:
    humps: list[str] = _HUMPS(word)
    return humps[-1].lower()


def _strange(word: str) -> int:
    """Count what no word looks like: letters that never follow each other, humps too short or too many."""
    if word.isdecimal() or not word.isascii():
        return 0
    humps = _HUMPS(word)
    score = sum(len(_ODD(hump.lower())) for hump in humps if len(hump) >= _WORD)
    if len(humps) > 1:
        score += sum(1 < len(hump) < _WORD and hump.lower() not in _SHORT for hump in humps)
        score += sum(len(hump) == 1 for hump in humps[1:-1])
    return score
