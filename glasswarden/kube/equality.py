"""Equality of decoded JSON at any depth, and of Kubernetes' quantities and int-or-strings.

Python's own comparison is fast, but fails on deep nesting and considers ``true`` equal to ``1``.

Quantities are compared by their amount, not by their spelling. Amounts are exact: fractions, never
floats. Like `ParseQuantity` in apimachinery's `resource` package, the parser rounds up anything
finer than a billionth and limits a binary quantity to 2⁶³-1.
"""

import re
from fractions import Fraction
from math import ceil
from typing import Any, Final

import msgspec

_encode: Final = msgspec.json.Encoder().encode


def is_surely_equal(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether Python considers the two equal; false if they are nested too deep for it."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def is_identical(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether the two are the same JSON, in any order of keys; ``1`` equals ``1.0``."""
    return _has_same_encoding(one, other) or _has_same_content(one, other)


def is_same_scalar(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether two values, not both maps or both lists, are the same JSON."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _has_same_encoding(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    # Several times faster than a walk, but false for maps in another order.
    try:
        return _encode(one) == _encode(other)
    except (RecursionError, UnicodeEncodeError):
        return False


def _has_same_content(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    pending = [(one, other)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pending += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif not is_same_scalar(one, other):
            return False
    return True


_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i|))"
)
_DECIMAL: Final = {
    suffix: 3 * power for power, suffix in enumerate(["n", "u", "m", "", *"kMGTPE"], start=-3)
}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO: Final = 10**9
_MOST: Final = 2**63 - 1

_LONGEST: Final = 64
"""Digits of a number; more is not a realistic amount, and is expensive to compute with."""
_WIDEST: Final = 99
"""Digits of scale in an exponent, for the same reason."""


class QuantityError(ValueError):
    """Text that is not a Kubernetes quantity."""


def parse_quantity(text: str) -> Fraction:
    """Return the amount of *text*, or raise `QuantityError`."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError("not a Kubernetes quantity")
    amount = _round_up(Fraction(match["number"]) * _scale_of(match["exponent"], match["suffix"]))
    if match["suffix"] in _BINARY:
        amount = min(amount, Fraction(_MOST))
    return -amount if match["sign"] == "-" else amount


def is_same_quantity(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether two JSON values are the same amount; false if one is not a quantity."""
    try:
        return _amount_of(one) == _amount_of(other)
    except QuantityError:
        return False


def is_same_int_or_string(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether two values of an int-or-string field mean the same; ``80`` and ``"80"`` do."""
    return type(one) in (int, str) and type(other) in (int, str) and str(one) == str(other)


def _scale_of(exponent: str | None, suffix: str | None) -> Fraction:
    if suffix in _BINARY:
        return Fraction(2) ** _BINARY[suffix]
    power = _DECIMAL[suffix or ""] if exponent is None else int(exponent)
    if abs(power) > _WIDEST:
        raise QuantityError("an exponent out of range")
    return Fraction(10) ** power


def _round_up(amount: Fraction) -> Fraction:
    return Fraction(ceil(amount * _NANO), _NANO)


def _amount_of(value: Any) -> Fraction:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return parse_quantity(value)
    if type(value) in (int, float):
        return parse_quantity(repr(value))
    raise QuantityError("neither text nor a number")
