"""What a shipped model was validated on, in one sentence for every table, record and reward.

The numbers are in weights/validation.json under the model's name and revision, so other weights claim nothing.
docs/explanation/nano-figures.md says how each was measured.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any


def validated_on(model: str) -> str:
    """The sentence for a model's full name, whatever its folder is called; '' for a model that was not measured here.

    >>> validated_on("my_models:Mine")
    ''
    """
    measured = next((name for name in _measured() if f"@{name.partition('@')[2]}" in model), None)
    return "" if measured is None else _sentence(measured, _measured()[measured])


def validation_notes(*models: str) -> list[str]:
    """The sentences for several models, each once: notes of a table."""
    return list(dict.fromkeys(sentence for model in models if (sentence := validated_on(model))))


def validation_record(model: str) -> dict[str, str]:
    """What a JSON record says about its model's validation; nothing for a model that was not measured here."""
    return {"validated_on": sentence} if (sentence := validated_on(model)) else {}


@cache
def _measured() -> dict[str, Any]:
    path = files("cmi.reward.model").joinpath("weights", "validation.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _sentence(model: str, measured: dict[str, Any]) -> str:
    """ASCII alone, because it is sent as an HTTP header, too."""
    flaws, systems = measured["flaws"], measured["systems"]
    people = " and ".join(
        f"{one['right']:.1f} % ({one['interval'][0]} to {one['interval'][1]})" for one in measured["listeners"]
    )
    return (
        f"{model} was validated on flaws unseen in training (clean above flawed: "
        f"{'/'.join(map(str, flaws['right']))} %, {'/'.join(flaws['strengths'])}) and on texts (the right one of two: "
        f"{measured['texts']['right']} %), not on taste: it agrees with listeners in {people} of pairs in "
        f"{len(measured['listeners'])} studies and on {systems['right']} of {systems['n']} pairs of systems; "
        "chance is 50 %."
    )
