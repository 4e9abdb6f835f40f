"""`quantity`: amounts by what they mean."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasswarden.kube.equality import (
    QuantityError,
    is_same_int_or_string,
    is_same_quantity,
    parse_quantity,
)

KIBI = 1024


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("007", 7),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("1m", Fraction(1, 1000)),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", KIBI),
        ("1Mi", KIBI**2),
        ("1Gi", KIBI**3),
        ("1Ti", KIBI**4),
        ("1Pi", KIBI**5),
        ("1Ei", KIBI**6),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E-3", Fraction(1, 1000)),
        ("1.5e+2", 150),
        ("0.1", Fraction(1, 10)),
        ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)),
        ("16Ei", 2**63 - 1),
    ],
)
def test_quantity_is_parsed_to_an_exact_amount(text: str, amount: int | Fraction) -> None:
    assert parse_quantity(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        *("", "m", "+", ".", "1 k", "1K", "1ki", "1mi", "1e", "1e1.5", "1e3k", "0x1", "1_0", "1\n"),
        *("\u0661", "1e1000000000", "9" * 5000),
    ],
)
def test_invalid_quantity_is_rejected(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(text)


SCALES = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000), "M": Decimal(1000_000)}
SCALES |= {
    "Ki": Decimal(1024),
    "Mi": Decimal(1024 * 1024),
    "e2": Decimal(100),
    "E-2": Decimal("0.01"),
}


@given(st.integers(-(10**6), 10**6), st.integers(0, 4), st.sampled_from(list(SCALES)))
def test_quantity_agrees_with_decimal_arithmetic(digits: int, places: int, suffix: str) -> None:
    number = Decimal(digits).scaleb(-places)
    assert parse_quantity(f"{number:f}{suffix}") == Fraction(number * SCALES[suffix])


@given(st.integers(-(2**40), 2**40))
def test_spellings_of_one_amount_are_the_same_quantity(amount: int) -> None:
    spellings = [
        str(amount),
        f"{amount}000m",
        f"{amount}e0",
        amount,
        f"{amount}.0",
        f"{amount}000e-3",
    ]
    assert all(is_same_quantity(one, other) for one in spellings for other in spellings)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("500m", "0.5", True),
        ("500m", 0.5, True),
        ("1Gi", "1024Mi", True),
        ("1", 1, True),
        ("1e3", "1k", True),
        ("1Gi", "1G", False),
        ("1", "2", False),
        ("1", True, False),
        ("a", "a", False),
        (None, None, False),
        ({}, "1", False),
        ("1e1000000000", "1e1000000000", False),
    ],
)
def test_quantities_are_compared_by_amount(
    one: Any,  # noqa: ANN401 - any JSON value
    other: Any,  # noqa: ANN401 - any JSON value
    same: bool,  # noqa: FBT001 - an expectation
) -> None:
    assert is_same_quantity(one, other) == same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (80, "80", True),
        ("25%", "25%", True),
        (25, "25%", False),
        ("http", 80, False),
        ("080", 80, False),
        (True, "True", False),
        (1, True, False),
        (1.0, 1, False),
    ],
)
def test_int_or_strings_are_compared_by_meaning(
    one: Any,  # noqa: ANN401 - any JSON value
    other: Any,  # noqa: ANN401 - any JSON value
    same: bool,  # noqa: FBT001 - an expectation
) -> None:
    assert is_same_int_or_string(one, other) == same
