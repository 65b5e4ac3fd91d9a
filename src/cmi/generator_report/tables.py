"""The report as tables for people, and as a record for machines."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from cmi.critic.observe import CUT, KINDS, NO_VOICE
from cmi.distance.measure import TITLES
from cmi.generator_report.collect import HeardTake
from cmi.generator_report.summary import GeneratorReport, Mean, ReportOfGenerators
from cmi.report.numbers import interval, number, p_value, percent, signed
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes, validation_record
from cmi.stats.comparison import finite

ERRORS = "The documentation of `cmi report` says how often each errs."
EXPLAINED = {
    "dropouts": "short holes in the sound",
    "clipping": "peaks are cut off",
    "muffled": "no high frequencies",
    "tempo jump": "the tempo changes suddenly",
    "gap": "silence inside the take",
    CUT: "the music breaks off at the end",
    "tail": "long silence at the end",
    "hum": "mains hum at 50 or 60 Hz",
    "stuck": "a moment is repeated exactly",
    "one-sided": "one channel is much quieter",
    "phase": "the channels cancel each other",
    NO_VOICE: "lyrics were given, and no voice is heard",
}


def tables_of(report: ReportOfGenerators) -> list[Table]:
    tables = [_ranking(report), *_paired(report), *_attributes(report), _findings(report), _sound(report)]
    tables += [*_curves(report), *_lyrics(report), *_distances(report)]
    copies = [[one.name, a, b, number(alike, 3)] for one in report.generators for a, b, alike in one.copies]
    if copies:
        tables.append(Table("Takes that are copies of another take", ["generator", "take", "take", "alike"], copies, 3))
    left_out = [
        [one.name, take, why.partition(f"{take}: ")[2] or why]
        for one in report.generators
        for take, why in one.left_out
    ]
    if left_out:
        tables.append(Table("Takes left out", ["generator", "take", "why"], left_out, 3))
    return tables


def _ranking(report: ReportOfGenerators) -> Table:
    rows = [
        [
            one.name,
            str(one.prompts),
            str(len(one.takes)),
            *_cells(one.musicality),
            *_cells(one.alignment),
            *(["-", "-"] if one.own_prompt is None else _percent(one.own_prompt)),
        ]
        for one in report.generators
    ]
    headers = ["generator", "prompts", "takes", "musicality", "95 %", "alignment", "95 %", "own prompt, %", "95 %"]
    notes = [
        f"Means of scores by {report.model}; scores compare takes and have no unit. Intervals resample prompts; there "
        "is none for fewer than ten. Own prompt: how often a take fits its own prompt better than another prompt of "
        "the same set; 50 is chance.",
        *validation_notes(report.model),
        *report.notes,
    ]
    return Table("Generators, the best first", headers, rows, notes=notes)


def _cells(mean: Mean, shown: Callable[[float], str] = number) -> list[str]:
    return [shown(mean.value), interval(mean.interval, with_sign=shown is signed)]


def _percent(mean: Mean) -> list[str]:
    return [percent(mean.value), interval(mean.interval, 0, 100)]


def _paired(report: ReportOfGenerators) -> list[Table]:
    rows = [
        [
            f"{one.first} minus {one.second}",
            str(one.prompts),
            *_cells(one.musicality, signed),
            *_cells(one.alignment, signed),
            *_percent(one.won),
        ]
        for one in report.paired
    ]
    headers = ["generators", "prompts", "musicality", "95 %", "alignment", "95 %", "prompts won, %", "95 %"]
    notes = [
        "Mean differences on the prompts that both were given. An interval that excludes 0 says that one is ahead. "
        "Won: by the sum of both scores."
    ]
    return [Table("Generators on the same prompts", headers, rows, notes=notes)] if rows else []


def _attributes(report: ReportOfGenerators) -> list[Table]:
    rows = [
        [
            one.name,
            found.attribute,
            str(found.named),
            *_percent(found.heard),
            percent(found.elsewhere),
            str(found.unchecked),
        ]
        for one in report.generators
        for found in one.attributes
    ]
    headers = ["generator", "attribute", "asked", "heard, %", "95 %", "if not asked, %", "not checked"]
    notes = [
        "Asked: how often a prompt names it. Heard: by musicnn's tags, the measured tempo and key. If not asked: the "
        f"same in takes whose prompts do not name it; only a clear difference says that prompts are followed. {ERRORS}"
    ]
    return [Table("What prompts name, and whether it is heard", headers, rows, 2, notes=notes)] if rows else []


def _findings(report: ReportOfGenerators) -> Table:
    rows = []
    for kind in (*KINDS, NO_VOICE):
        counts = [sum(kind in take.kinds for take in one.takes) for one in report.generators]
        if any(counts):
            rows.append(
                [
                    _explained(kind),
                    *(f"{n} of {len(one.takes)}" for n, one in zip(counts, report.generators, strict=True)),
                ]
            )
    clean = [sum(not take.observations for take in one.takes) for one in report.generators]
    rows.append(
        ["nothing found", *(f"{n} of {len(one.takes)}" for n, one in zip(clean, report.generators, strict=True))]
    )
    headers = ["what", *(one.name for one in report.generators)]
    return Table(
        "Takes in which something is wrong", headers, rows, notes=[f"Measured, not judged by a model. {ERRORS}"]
    )


def _explained(kind: str) -> str:
    return f"{kind}: {EXPLAINED[kind]}" if kind in EXPLAINED else kind


def _sound(report: ReportOfGenerators) -> Table:
    rows = [
        [
            one.name,
            _range([take.inspection.seconds for take in one.takes], 0),
            _range([take.inspection.loudness for take in one.takes], 1),
            _range([take.inspection.tempo for take in one.takes], 0),
            str(sum(take.inspection.tempo is None for take in one.takes)),
            number(one.variety.between_prompts),
            number(one.variety.within_prompts),
        ]
        for one in report.generators
    ]
    headers = [
        "generator",
        "length, s",
        "loudness, LUFS",
        "tempo, BPM",
        "no pulse",
        "variety between prompts",
        "within",
    ]
    bank = report.generators[0].variety.bank
    notes = [
        "Medians, with the 10th and the 90th percentile. No pulse: takes without a tempo. Variety: the mean of 1 - "
        "cosine of musicnn's tags between takes of different prompts, and within a prompt; "
        f"{bank:.2f} in a bank of 206 tracks."
    ]
    return Table("How the takes sound", headers, rows, notes=notes)


def _range(values: list[float | None] | list[float], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, middle, high = np.quantile(known, (0.1, 0.5, 0.9))
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _curves(report: ReportOfGenerators) -> list[Table]:
    rows = [
        [
            one.name,
            point.axis,
            str(point.n),
            number(point.score.mean),
            signed(point.gain.mean),
            interval(point.gain.interval, with_sign=True),
        ]
        for one in report.generators
        if one.curve is not None
        for point in one.curve.points
        if point.axis == "overall"
    ]
    notes = [
        f"The best of N takes by {report.model}, judged by the same model, so the gain is more than people will hear. "
        "Overall: the mean of musicality and alignment. `cmi pick --curve 1,4 --second OTHER` judges by another model."
    ]
    headers = ["generator", "score", "N", "mean", "gain", "95 %"]
    return [Table("What picking the best of N takes gains", headers, rows, 2, notes=notes)] if rows else []


def _lyrics(report: ReportOfGenerators) -> list[Table]:
    rows = []
    for one in report.generators:
        heard = [take.lyrics for take in one.takes if take.lyrics is not None]
        others = [found.other_rate for found in heard if found.other_rate is not None]
        if heard:
            rates = [found.rate for found in heard]
            rows.append([one.name, str(len(heard)), _rate(rates), _rate(others)])
    headers = ["generator", "takes", "word errors, %", "against other lyrics, %"]
    notes = [
        "Medians, by moonshine's small recogniser of English speech, which understands little singing over a band: "
        "compare with the rate against another prompt's lyrics."
    ]
    return [Table("Lyrics heard against lyrics asked for", headers, rows, notes=notes)] if rows else []


def _rate(rates: list[float]) -> str:
    return percent(float(np.median(rates)), 0) if rates else "-"


def _distances(report: ReportOfGenerators) -> list[Table]:
    rows = [
        [
            f"{between.takes} from {between.reference}",
            TITLES[found.metric],
            *(number(value, 3) for value in (found.value, found.limit, *found.interval, found.itself, found.shuffled)),
            p_value(found.p),
        ]
        for between in report.distances
        for found in between.distances
    ]
    if not rows:
        return []
    headers = ["sets", "distance", "value", "limit", "low", "high", "itself", "shuffled", "p"]
    notes = [
        f"By {report.distances[0].encoder}, windows of 3 s. limit: estimated for infinitely many takes, and about 0 or "
        "below if no distance can be told; low, high: its 95 % interval. itself: between two halves of the second set. "
        "shuffled: 95 % of random splits of all recordings are below it; p: the share of these that are as far apart "
        "as the sets. `cmi distance` has other encoders and MAD.",
        *(f"{one.takes} from {one.reference}: {'; '.join(one.notes)}." for one in report.distances),
    ]
    return [Table("How far apart the sets of takes are", headers, rows, 2, notes=notes)]


def record_of(report: ReportOfGenerators) -> dict[str, object]:
    """For machines: everything on the page but the recordings."""
    return {
        "model": report.model,
        **validation_record(report.model),
        "notes": list(report.notes),
        "paired": [
            {**one._asdict(), **{name: _mean_record(getattr(one, name)) for name in ("musicality", "alignment", "won")}}
            for one in report.paired
        ],
        "distances": [
            {**one._asdict(), "distances": [found._asdict() for found in one.distances]} for one in report.distances
        ],
        "generators": [_generator_record(one) for one in report.generators],
    }


def _mean_record(mean: Mean) -> dict[str, float | None]:
    return {"mean": finite(mean.value), "low": finite(mean.interval.low), "high": finite(mean.interval.high)}


def _generator_record(one: GeneratorReport) -> dict[str, object]:
    return {
        "name": one.name,
        "prompts": one.prompts,
        "takes": len(one.takes),
        **{
            axis: _mean_record(mean)
            for axis in ("musicality", "alignment", "own_prompt")
            if (mean := getattr(one, axis)) is not None
        },
        "attributes": [{**found._asdict(), "heard": _mean_record(found.heard)} for found in one.attributes],
        "found": dict(Counter(o.kind for take in one.takes for o in take.observations)),
        "best_of": None if one.curve is None else asdict(one.curve),
        "variety": one.variety._asdict(),
        "copies": [{"a": a, "b": b, "alike": alike} for a, b, alike in one.copies],
        "left_out": [{"take": take, "why": why} for take, why in one.left_out],
        "each": [_take_record(take) for take in one.takes],
    }


def _take_record(take: HeardTake) -> dict[str, object]:
    sound = take.inspection
    return {
        "prompt": take.row.prompt_name,
        "take": take.row.name,
        "audio": str(take.row.path),
        "seconds": round(sound.seconds, 2),
        **take.score._asdict(),
        "alignment_elsewhere": take.other_alignment,
        "sections": [{"start": one.start, "end": one.end, **one.score._asdict()} for one in take.sections],
        "attributes": [one._asdict() for one in take.attributes],
        "loudness": sound.loudness,
        "loudness_over_time": sound.loudness_over_time,
        "tempo": sound.tempo,
        "tempo_over_time": sound.tempo_over_time,
        "key": sound.key,
        "key_over_time": sound.keys,
        "lyrics_heard": None if take.lyrics is None else take.lyrics._asdict(),
        "notes": list(take.scored.notes),
        "observations": [one._asdict() for one in take.observations],
    }
