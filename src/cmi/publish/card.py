"""The data card: README.md with front matter that the hub reads, filled in from the data and from what was stated."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from cmi.publish.provenance import REFERENCE
from cmi.publish.statistics import HOUR, Record
from cmi.publish.tables import all_tables
from cmi.report import numbers
from cmi.report.tables import Table, to_markdown
from cmi.rewardbench.data.published import RECORDINGS

NOT_STATED = "Not stated by the publisher."
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
# Licences that the hub's front matter has a name for.
HUB_LICENCES = {
    "CC0 1.0": "cc0-1.0",
    **{
        f"CC {kind} 4.0": f"cc-{kind.lower()}-4.0" for kind in ("BY", "BY-SA", "BY-NC", "BY-NC-SA", "BY-ND", "BY-NC-ND")
    },
    "MIT": "mit",
    "Apache 2.0": "apache-2.0",
    "ODC-BY 1.0": "odc-by",
}


@dataclass(frozen=True)
class CardText:
    """The parts of the card that the publisher provides."""

    title: str
    contact: str  # where to ask for removal
    licence: str = ""  # of prompts and labels
    description: str = ""
    sources: str = ""
    consent: str = ""
    faults: tuple[str, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class CardFacts:
    """The parts of the card that are computed from the data."""

    statistics: Record
    splits: Sequence[str]  # in file names
    columns: Sequence[str]
    recording_columns: Sequence[str]
    recordings: Sequence[Mapping[str, Any]]
    raters: int
    judges: Sequence[str]  # models whose names are published
    shared_prompts: int  # prompts that occur in more than one split
    repeated: int  # files with the content of another one
    dropped: Sequence[str]  # columns that were left out


def write_card(text: CardText, facts: CardFacts) -> str:
    """Return the content of README.md."""
    record = facts.statistics
    kind = (
        "vote"
        if record["choices"]
        else "rated take"
        if record["ratings"]
        else "pair"
        if record["is_paired"]
        else "take"
    )
    hours = "" if record["hours"] is None else f", {record['hours']:.2f} hours"
    systems = f", {len(record['systems']):,} systems" if record["systems"] else ""
    summary = (
        f"{record['rows']:,} rows on {record['units']:,} {'pairs of takes' if record['is_paired'] else 'takes'}: "
        f"{record['takes']:,} takes{hours}, {record['prompts']:,} prompts{systems}."
    )
    return (
        files("cmi.publish")
        .joinpath("card.md")
        .read_text(encoding="utf-8")
        .format(
            front=_front_matter(text, facts),
            title=text.title,
            summary=summary,
            description=text.description or "The publisher gave no description.",
            row=kind,
            columns=_names(facts.columns),
            recording_columns=_names(["audio", *facts.recording_columns]),
            statistics=_statistics(record),
            sources=f"Sources: {text.sources}" if text.sources else f"Sources of prompts and references: {NOT_STATED}",
            systems=to_markdown([system_terms(facts.recordings)]).strip(),
            terms_note=f"Prompts and labels: {text.licence or NOT_STATED}",
            annotators=_annotators(facts),
            consent=f"Consent: {text.consent or NOT_STATED}",
            faults="\n".join(f"- {fault}" for fault in [*text.faults, *found_faults(facts)]),
            contact=text.contact,
        )
    )


def _statistics(record: Record) -> str:
    """Return the tables without the data set's name and the numbers of the paper's tables; systems have their own."""
    tables = []
    for table in all_tables([record]):
        title = re.sub(r" \((Table|figure) \d+\)$", "", table.title.removeprefix(f"{record['name']}: "))
        if title != "systems":
            tables.append(replace(table, title=title.capitalize()))
    return to_markdown(tables).strip()


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in columns)


def _front_matter(text: CardText, facts: CardFacts) -> str:
    import yaml

    licence = HUB_LICENCES.get(text.licence)
    languages = sorted({one for found in facts.statistics["languages"].values() for one in found} - {"unknown"})
    rows = [{"split": split, "path": f"data/{split}-*.parquet"} for split in facts.splits]
    sizes = [name for most, name in SIZES if facts.statistics["rows"] < most]
    front: dict[str, Any] = {
        "pretty_name": text.title,
        "license": licence or "other",
        **({} if licence else {"license_name": text.licence or "not-stated"}),
        **({"language": languages} if languages else {}),
        "tags": ["music", "audio", "cmi"] + (["preferences"] if facts.statistics["choices"] else []),
        "size_categories": [sizes[0] if sizes else "n>1M"],
        "configs": [
            {"config_name": "rows", "default": True, "data_files": rows},
            {"config_name": RECORDINGS, "data_files": [{"split": "train", "path": f"data/{RECORDINGS}-*.parquet"}]},
        ],
    }
    dumped: str = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=120)
    return dumped


def system_terms(recordings: Sequence[Mapping[str, Any]]) -> Table:
    """Return each system with its versions, recordings and terms; references are a system of their own."""
    groups: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in recordings:
        groups[one.get("role") or "", str(one.get("generator") or "")].append(one)
    rows = []
    for (role, system), own in sorted(groups.items(), key=lambda one: (one[0][0] == REFERENCE, one[0][1])):
        versions = sorted({str(one["version"]) for one in own if one.get("version")})
        terms = Counter(str(one.get("licence") or "not stated") for one in own)
        seconds = sum(one.get("seconds") or 0.0 for one in own)
        name = "(references)" if role == REFERENCE else system or "(not stated)"
        stated = "; ".join(each if len(terms) == 1 else f"{each} ({n:,})" for each, n in terms.most_common())
        rows.append(
            [name, ", ".join(versions) or "not stated", stated, f"{len(own):,}", numbers.number(seconds / HOUR)]
        )
    return Table("Systems", ["system", "version", "licence or terms", "recordings", "hours"], rows, labels=3)


def _annotators(facts: CardFacts) -> str:
    said = []
    if facts.raters:
        votes = facts.statistics["samples"]
        plural = "s" if facts.raters > 1 else ""
        said.append(
            f"{facts.raters:,} annotator{plural} gave {votes:,} judgements. Their names were replaced by pseudonyms, "
            f"which are the same in every version of this data set."
        )
    if facts.judges:
        said.append(f"Labels that are not by people are by {', '.join(facts.judges)}.")
    if not said:
        said.append("No row names an annotator.")
    return " ".join(said)


def found_faults(facts: CardFacts) -> list[str]:
    """Return the faults that can be seen in the data."""
    record, found = facts.statistics, list[str]()
    without = sum(not one.get("licence") for one in facts.recordings)
    checks = (
        (without, f"{without:,} recordings have no stated licence or terms."),
        (facts.shared_prompts, f"{facts.shared_prompts:,} prompts occur in more than one split."),
        (facts.repeated, f"{facts.repeated:,} files had the content of another file and are stored once."),
        (record["unreadable"], f"{record['unreadable'] or 0:,} recordings cannot be decoded."),
        (record["languages"].get("prompts"), "Languages are guessed from script and common words."),
        (facts.dropped, f"Columns that were left out of this version: {_names(facts.dropped)}."),
    )
    found += [sentence for is_found, sentence in checks if is_found]
    unclear = {axis: 1 - one["rate"] for axis, one in record["agreement"].items() if one["rate"] is not None}
    found += [f"Raters disagree on {share:.0%} of the pairs of votes on {axis}." for axis, share in unclear.items()]
    return found or ["None is known."]
