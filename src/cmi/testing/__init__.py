"""Fake endpoints and judges, to test code that asks models without a model, a key or a bill.

    with fake_endpoint(lambda body: "C minor", faults=0.2) as server:       # a fifth of the calls fail
        endpoint = cmi.llm.Endpoint(server.url, "fake")

`cmi judge endpoint` serves one that judges music by a rule anyone can check.
"""

from typing import TYPE_CHECKING

from cmi._util.lazy import lazy_names

if TYPE_CHECKING:
    from cmi.testing.chat_endpoint import FakeEndpoint, fake_endpoint, sounds_of
    from cmi.testing.rule_endpoint import judge_by_rule
    from cmi.testing.simulated_judge import SimulatedJudge

__all__ = ["FakeEndpoint", "SimulatedJudge", "fake_endpoint", "judge_by_rule", "sounds_of"]
__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {
        "chat_endpoint": ("FakeEndpoint", "fake_endpoint", "sounds_of"),
        "rule_endpoint": ("judge_by_rule",),
        "simulated_judge": ("SimulatedJudge",),
    },
)
