"""Format numbers for tables and sentences. A missing number is a dash."""

import math
from collections.abc import Sequence
from typing import TypeGuard

MISSING = "-"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def number(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Format `value` times `scale` with a fixed number of decimals.

    >>> number(0.73456, 4), number(None), number(float("nan"))
    ('0.7346', '-', '-')
    """
    return f"{scale * value:.{digits}f}" if _exists(value) else MISSING


def signed(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Format a difference with its sign.

    >>> signed(1.5), signed(-0.25, 1, 100)
    ('+1.50', '-25.0')
    """
    return f"{scale * value:+.{digits}f}" if _exists(value) else MISSING


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share from 0 to 1 in percent, without the % sign.

    >>> percent(0.875)
    '87.5'
    """
    return number(share, digits, 100)


def interval(
    ends: Sequence[float | None] | None,
    digits: int = 2,
    scale: float = 1.0,
    with_sign: bool = False,
    between: str = " – ",
) -> str:
    """Format the two ends of an interval.

    >>> interval((0.1, 0.25), 1, 100), interval((-1.0, 2.0), with_sign=True), interval((None, None))
    ('10.0 – 25.0', '-1.00 – +2.00', '-')
    """
    if ends is None or not all(map(_exists, ends)):
        return MISSING
    show = signed if with_sign else number
    return between.join(show(end, digits, scale) for end in ends)


def p_value(p: float | None) -> str:
    """Format a p value with three decimals, as papers do.

    >>> p_value(0.0404), p_value(0.00001), p_value(1.0)
    ('.040', '< .001', '1.000')
    """
    if not _exists(p):
        return MISSING
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def count(n: int | None) -> str:
    """Format a whole number with thousands separators.

    >>> count(27405)
    '27,405'
    """
    return MISSING if n is None else f"{n:,}"


def file_size(size: int | None) -> str:
    """Format a number of bytes in a suitable unit.

    >>> file_size(1_900_000_000), file_size(512), file_size(None)
    ('1.9 GB', '512 B', '-')
    """
    if size is None:
        return MISSING
    power = min(len(_UNITS) - 1, (len(str(size)) - 1) // 3)
    return f"{size / 1000**power:.{min(power, 1)}f} {_UNITS[power]}"


def clock(seconds: float) -> str:
    """Format a position in a recording as minutes and seconds.

    >>> clock(95.7)
    '1:35'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _exists(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
