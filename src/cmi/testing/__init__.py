"""Fake endpoints and judges, to test code that asks models without a model, a key or a bill.

    with fake_endpoint(lambda body: "C minor", faults=0.2) as server:       # a fifth of the calls fail
        endpoint = cmi.llm.Endpoint(server.url, "fake")

`python -m cmi.testing.rule_endpoint` serves one that judges music by a rule anyone can check.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmi.testing.chat_endpoint import FakeEndpoint, fake_endpoint, sounds_of
    from cmi.testing.rule_endpoint import judge_by_rule
    from cmi.testing.simulated_judge import SimulatedJudge

_HOMES = {
    **dict.fromkeys(("FakeEndpoint", "fake_endpoint", "sounds_of"), "chat_endpoint"),
    "judge_by_rule": "rule_endpoint",
    "SimulatedJudge": "simulated_judge",
}
__all__ = ["FakeEndpoint", "SimulatedJudge", "fake_endpoint", "judge_by_rule", "sounds_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cmi.testing' has no attribute {name!r}")
    return getattr(import_module(f"cmi.testing.{_HOMES[name]}"), name)
