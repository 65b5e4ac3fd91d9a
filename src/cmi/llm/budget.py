"""What asking costs: usage, prices, a budget that is not overrun, and an estimate before anything is asked.

A call is whatever may be billed: one that was answered, that timed out, or whose answer was cut off. What the endpoint
refused (429, 500) is none. Tokens are those that the endpoint reports, or an estimate where it reports none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cmi._util.errors import InputError
from cmi.llm.endpoint import Sending
from cmi.llm.message import Request

CHARACTERS_A_TOKEN = 4.0
SOUND_TOKENS_A_SECOND = 25.0  # Qwen-Omni; Gemini has 32, GPT-audio 10
ANSWER_TOKENS = 150  # until answers tell


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
    """Money for a million tokens, in whatever currency the budget is in."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, usage: Usage) -> float:
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None: no limit. Money needs prices."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def exceeded_by(self, usage: Usage, prices: Prices) -> str:
        """Which limit that usage would break, in words; '' if none."""
        if self.calls is not None and usage.calls > self.calls:
            return f"{self.calls:,} calls"
        if self.tokens is not None and usage.tokens > self.tokens:
            return f"{self.tokens:,} tokens"
        if self.money is not None and prices.cost(usage) > self.money:
            return f"{self.money:g} in money"
        return ""


class Spending:
    """A budget in use: calls in flight hold what they are expected to cost until their usage is known."""

    def __init__(self, budget: Budget, prices: Prices, spent: Usage) -> None:
        if budget.money is not None and prices == Prices():
            raise InputError("a budget in money needs prices: money for a million input and output tokens")
        self.budget = budget
        self.prices = prices
        self.spent = spent
        self._held = Usage()

    def hold(self, expected: Usage) -> str:
        """Set aside what a call is expected to cost; if the budget does not allow it, which limit it would break."""
        broken = self.budget.exceeded_by(self.spent + self._held + expected, self.prices)
        if not broken:
            self._held += expected
        return broken

    def settle(self, expected: Usage, used: Usage) -> None:
        """The call is over: it used so much of what was set aside."""
        self._held -= expected
        self.spent += used


@dataclass(frozen=True)
class Estimate:
    """What asking would take: requests, those of them that are answered already, and the usage of the others."""

    requests: int
    answered: int
    usage: Usage
    money: float


def expected_usage(request: Request, seconds: Sequence[float], answer_tokens: int = ANSWER_TOKENS) -> Usage:
    """A guess at a request's usage; `seconds` are those sent of each of its sounds."""
    words = sum(map(len, request.texts)) / CHARACTERS_A_TOKEN
    return Usage(1, round(words + SOUND_TOKENS_A_SECOND * sum(seconds)), answer_tokens)


def sent_seconds(durations: Sequence[float], sending: Sending) -> list[float]:
    """How much of sounds that are so long is sent, by the limit on seconds."""
    return [length if sending.seconds is None else min(length, sending.seconds) for length in durations]
