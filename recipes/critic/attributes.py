"""How often what a prompt names is heard, in music whose prompts are known: `cmi report`'s alignment by attribute.

    python recipes/critic/attributes.py CMI_REAL

CMI_REAL    the folder of the data set cmi-real: clips of generators and of real music with their texts. Half of the
            clips, by a hash of their names: the other half is for choosing thresholds. Those of voices were chosen
            with both halves in view

'If named' is how often an attribute is heard that the text names, 'if not' how often the same is heard in clips whose
texts do not name it. A generator's clip may lack what its text names, so that less than 100 is not always an error of
ours. AUC: how often the measure is higher in a clip whose text names it than in one whose text does not; 50 is chance.
"""

import argparse
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import load
from cmi.bench.tasks.key import parse as parse_key
from cmi.features.tempo import RATE, find_tempo
from cmi.generator_report.attributes import ATTRIBUTES, NamedAttribute, TagBank, TakeMeasurements, is_heard, named_in
from cmi.generator_report.inspect import find_keys
from cmi.report.tables import Table, print_tables
from cmi.reward.model.encoders.nano import TAGS
from cmi.reward.scoring.tags import TagScorer, load_tags, read_bank
from cmi.rewardbench.data import cmi_real
from cmi.rewardbench.items import RatedItem
from cmi.stats import wilson

SECONDS = 30.0
Clips = Sequence[tuple[set[NamedAttribute], TakeMeasurements]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cmi_real", type=Path)
    arguments = parser.parse_args()
    tagger, bank = load_tags()[1], TagBank(TAGS, read_bank())
    clips = [
        (set(named_in(text)), measured)
        for path, text in texts(arguments.cmi_real).items()
        if (measured := measure(path, tagger, bank)) is not None
    ]
    print_tables([by_attribute(clips), by_name(clips)])


def texts(folder: Path) -> dict[Path, str]:
    """The own text of each clip of one half."""
    found = {}
    for item in cmi_real.rows(folder):
        if not isinstance(item, RatedItem) or not item.about["question"].endswith("wrong text"):
            continue
        right = item.prompt if item.votes["alignment"].choice == "a" else item.other_prompt
        path = item.takes[0]
        if right is not None and isinstance(path, Path) and int(hashlib.sha256(path.name.encode()).hexdigest(), 16) % 2:
            found[path] = right.text
    return found


def measure(path: Path, tagger: TagScorer, bank: TagBank) -> TakeMeasurements | None:
    try:
        sound = load(path, RATE, SECONDS).samples
        curve, key = find_tempo(sound), find_keys(sound)[0]
        tempo = None if curve is None else curve.tempo
        return TakeMeasurements(bank.shares(tagger.odds(path)), tempo, None if key is None else parse_key(key))
    except InputError as error:
        print(error)
        return None


def by_attribute(clips: Clips) -> Table:
    named = sorted({one for asked, _ in clips for one in asked})
    rows = []
    for attribute in ATTRIBUTES:
        hits: defaultdict[str, float] = defaultdict(float)
        for one in (one for one in named if one.attribute == attribute):
            own, others = heard(clips, one)
            if own and others:
                hits["n"] += len(own)
                hits["heard"] += sum(own)
                hits["elsewhere"] += len(own) * float(np.mean(others))
                hits["auc"] += len(own) * auc(clips, one)
        if count := int(hits["n"]):
            low, high = wilson(hits["heard"], count)
            rest = [f"{100 * hits[name] / count:.0f}" for name in ("elsewhere", "auc")]
            rows.append(
                [
                    attribute,
                    str(count),
                    f"{100 * hits['heard'] / count:.0f} ({100 * low:.0f} to {100 * high:.0f})",
                    *rest,
                ]
            )
    headers = ["attribute", "named", "heard if named, %", "if not, %", "AUC"]
    return Table(f"{len(clips)} clips of cmi-real", headers, rows)


def by_name(clips: Clips) -> Table:
    rows = []
    for one in sorted({one for asked, _ in clips for one in asked}):
        own, others = heard(clips, one)
        if len(own) >= 5:
            shares = [f"{100 * float(np.mean(part)):.0f}" for part in (own, others)]
            rows.append([one.attribute, one.name, str(len(own)), *shares, f"{100 * auc(clips, one):.0f}"])
    return Table(
        "By name, from five clips on", ["attribute", "name", "named", "heard if named, %", "if not, %", "AUC"], rows, 2
    )


def heard(clips: Clips, one: NamedAttribute) -> tuple[list[bool], list[bool]]:
    """In clips whose texts name it, and in the others; what cannot be told is left out."""
    found: tuple[list[bool], list[bool]] = ([], [])
    for asked, measured in clips:
        result = is_heard(one, measured).heard
        if result is not None:
            found[one not in asked].append(result)
    return found


def auc(clips: Clips, one: NamedAttribute) -> float:
    if one.name not in clips[0][1].shares:
        return float("nan")
    own, others = (
        np.array([measured.shares[one.name] for asked, measured in clips if (one in asked) == named])
        for named in (True, False)
    )
    return float(((own[:, None] > others) + 0.5 * (own[:, None] == others)).mean())


if __name__ == "__main__":
    main()
