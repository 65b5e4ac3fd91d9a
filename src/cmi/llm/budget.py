"""Usage, prices and budgets of requests, and cost estimates before anything is sent.

A call is whatever may be billed: it was answered, timed out, or its answer was cut off. A request that the endpoint
refused (429, 500) does not count. Tokens are those that the endpoint reports, or an estimate if it reports none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cmi._util.errors import InputError
from cmi.llm.endpoint import Sending
from cmi.llm.message import Request

CHARACTERS_A_TOKEN = 4.0
SOUND_TOKENS_A_SECOND = 25.0  # Qwen-Omni; Gemini has 32, GPT-audio 10
ANSWER_TOKENS = 150  # assumed until there are answers to average


class BudgetSpent(InputError):
    """The budget does not allow another call."""


@dataclass(frozen=True)
class Usage:
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return self + Usage(-other.calls, -other.input_tokens, -other.output_tokens)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class Prices:
    """Price of a million tokens, in the budget's currency."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, usage: Usage) -> float:
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6


@dataclass(frozen=True)
class Budget:
    """Limits on spending; None means no limit. A limit on money needs prices."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def share(self, parts: int) -> "Budget":
        """The budget of each of several processes that work at once."""
        calls, tokens = (None if most is None else max(1, most // parts) for most in (self.calls, self.tokens))
        return Budget(calls, tokens, None if self.money is None else self.money / parts)

    def exceeded_by(self, usage: Usage, prices: Prices) -> str:
        """Name the limit that this usage would exceed; '' if none."""
        if self.calls is not None and usage.calls > self.calls:
            return f"{self.calls:,} calls"
        if self.tokens is not None and usage.tokens > self.tokens:
            return f"{self.tokens:,} tokens"
        if self.money is not None and prices.cost(usage) > self.money:
            return f"{self.money:g} in cost"
        return ""


class Spending:
    """A budget in use: each call in flight reserves its expected cost until its usage is known."""

    def __init__(self, budget: Budget, prices: Prices, spent: Usage) -> None:
        if budget.money is not None and prices == Prices():
            raise InputError("a cost limit needs prices, for a million input tokens and a million output tokens")
        self.budget = budget
        self.prices = prices
        self.spent = spent
        self._held = Usage()

    def hold(self, expected: Usage) -> str:
        """Reserve the expected cost of a call, or return the limit that it would exceed."""
        broken = self.budget.exceeded_by(self.spent + self._held + expected, self.prices)
        if not broken:
            self._held += expected
        return broken

    def settle(self, expected: Usage, used: Usage) -> None:
        """Replace the reservation of a finished call by what it used."""
        self._held -= expected
        self.spent += used


@dataclass(frozen=True)
class Estimate:
    requests: int
    answered: int  # already, and so not sent again
    usage: Usage  # of the others
    money: float
    probe: int = 0  # requests that find out how much of a clip the model hears

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.requests + other.requests,
            self.answered + other.answered,
            self.usage + other.usage,
            self.money + other.money,
            self.probe + other.probe,
        )

    @property
    def probe_note(self) -> str:
        """Say what the probe of `cmi.llm.hearing` costs; '' if there is none."""
        cost = (
            f"{self.probe} of the requests find out how much of a clip the server hears; 3 more may follow if it cuts"
        )
        return f"{cost} (--no-probe: none)" if self.probe else ""


def expected_usage(request: Request, seconds: Sequence[float], answer_tokens: int = ANSWER_TOKENS) -> Usage:
    """Estimate a request's usage; `seconds` says how much of each sound is sent."""
    words = sum(map(len, request.texts)) / CHARACTERS_A_TOKEN
    return Usage(1, round(words + SOUND_TOKENS_A_SECOND * sum(seconds)), answer_tokens)


def sent_seconds(durations: Sequence[float], sending: Sending) -> list[float]:
    """Cut durations to the endpoint's limit on seconds."""
    return [length if sending.seconds is None else min(length, sending.seconds) for length in durations]
