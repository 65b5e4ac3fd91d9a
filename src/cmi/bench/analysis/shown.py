"""Numbers as the tables of all analyses show them; nothing for a number that does not exist."""


def number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:+.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.2f} – {high:.2f}"


def signed_span(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:+.2f} – {high:+.2f}"


def sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def p_value(value: float | None) -> str:
    if value is None:
        return ""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
