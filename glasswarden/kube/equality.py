"""Equality of decoded JSON, at any depth.

Python's own comparison is fast but gives up on deep nesting, and takes ``true`` for ``1``.

Kubernetes' quantities and int-or-strings, compared by what they mean and not how they look.

Exact: values are fractions, never floats. Like the API server, anything finer than a billionth is
rounded up, and a binary quantity is capped at 2⁶³-1 (`ParseQuantity` in apimachinery's
`resource` package).
"""

import re
from fractions import Fraction
from math import ceil
from typing import Any, Final

import msgspec

_encode: Final = msgspec.json.Encoder().encode


def surely_equal(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether Python finds the two equal; false when they are nested too deep for it."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def identical(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether the two are the same JSON; order in maps is nothing, and ``1`` is ``1.0``."""
    return _encode_alike(one, other) or _walk_alike(one, other)


def same_scalar(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether two values, not both maps or both lists, are the same JSON."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _encode_alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    # Several times faster than a walk, but knows nothing of maps in another order.
    try:
        return _encode(one) == _encode(other)
    except (RecursionError, UnicodeEncodeError):
        return False


def _walk_alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
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
        elif not same_scalar(one, other):
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
"""Digits of a number; more is no amount of anything, and expensive to compute with."""
_WIDEST: Final = 99
"""Digits of scale in an exponent, for the same reason."""


class QuantityError(ValueError):
    """Text that is no Kubernetes quantity."""


def parse_quantity(text: str) -> Fraction:
    """Return the amount that *text* means, or raise `QuantityError`."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError("not a Kubernetes quantity")
    amount = _rounded(Fraction(match["number"]) * _scale(match["exponent"], match["suffix"]))
    if match["suffix"] in _BINARY:
        amount = min(amount, Fraction(_MOST))
    return -amount if match["sign"] == "-" else amount


def same_quantity(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether two JSON values mean the same amount; false where either is no quantity."""
    try:
        return _amount(one) == _amount(other)
    except QuantityError:
        return False


def same_int_or_string(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether two values of an int-or-string field mean the same; ``80`` and ``"80"`` do."""
    return type(one) in (int, str) and type(other) in (int, str) and str(one) == str(other)


def _scale(exponent: str | None, suffix: str | None) -> Fraction:
    if suffix in _BINARY:
        return Fraction(2) ** _BINARY[suffix]
    power = _DECIMAL[suffix or ""] if exponent is None else int(exponent)
    if abs(power) > _WIDEST:
        raise QuantityError("an exponent out of range")
    return Fraction(10) ** power


def _rounded(amount: Fraction) -> Fraction:
    return Fraction(ceil(amount * _NANO), _NANO)


def _amount(value: Any) -> Fraction:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return parse_quantity(value)
    if type(value) in (int, float):
        return parse_quantity(repr(value))
    raise QuantityError("neither text nor a number")
