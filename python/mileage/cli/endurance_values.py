"""Values of options of `mileage endurance`: sizes, rates and times. What cannot be read is refused with its option."""

from __future__ import annotations


def bytes_of(option: str, text: str | None) -> float | None:
    """Bytes of a size; also in PB."""
    from mileage.errors import Refused
    from mileage.plan.sizes import parse_bytes

    if text is None:
        return None
    try:
        if text.strip().endswith("PB"):
            return 1000.0 * parse_bytes(text.strip()[:-2] + "TB")
        size = parse_bytes(text)
    except ValueError as error:
        raise Refused(option, str(error), code="wrong-value") from None
    if not size:
        raise Refused(option, found=repr(text), expected="a size above 0", code="out-of-range")
    return float(size)


def rate_of(option: str, text: str, capacity_bytes: float | None) -> float:
    """Bytes per second of a rate of writing."""
    from mileage.errors import Refused
    from mileage.plan.write_rates import parse_write_rate

    try:
        rate = parse_write_rate(text)
    except ValueError as error:
        raise Refused(option, str(error), code="wrong-value") from None
    if rate.needs_capacity and capacity_bytes is None:
        raise Refused(
            option, f"{text!r} are multiples of a capacity", advice="give --capacity", code="missing"
        )
    return float(rate.of(round(capacity_bytes or 0)))


def time_s_of(option: str, text: str) -> float:
    """Seconds of a time such as "10 min"."""
    from mileage.errors import Refused
    from mileage.plan.sizes import parse_time_ns

    try:
        return parse_time_ns(text) / 1e9
    except ValueError as error:
        raise Refused(option, str(error), code="wrong-value") from None
