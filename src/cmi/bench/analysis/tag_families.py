"""Families of tags: which tags of a data set belong together, and which groups are compared.

The file is `tag_families.toml` beside this module, whose head explains the format, or a user's file in that format.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from cmi._util.config import read_config
from cmi.bench.catalog import DATASETS

NO_GROUP = ""


Names = Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Contrast:
    """The mean over the groups `a` minus the mean over the groups `b`."""

    name: str
    a: Names
    b: Names


@dataclass(frozen=True)
class TagFamily:
    dataset: str
    name: Annotated[str, Field(min_length=1)]
    groups: Annotated[dict[str, Names], Field(min_length=1)]
    contrasts: tuple[Contrast, ...] = ()

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS.multi_label:
            raise ValueError(f"has dataset {self.dataset!r}, expected one of {', '.join(DATASETS.multi_label)}")
        known = DATASETS[self.dataset].classes
        for group, tags in self.groups.items():
            if unknown := [tag for tag in tags if tag not in known]:
                raise ValueError(f"has {unknown[0]!r} in group {group!r}, which is not a tag of {self.dataset}")
        for contrast in self.contrasts:
            if unknown := [group for group in (*contrast.a, *contrast.b) if group not in self.groups]:
                raise ValueError(f"has no group {unknown[0]!r}, which its contrast {contrast.name!r} names")

    def tags(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(tag for group in groups for tag in self.groups[group])


@dataclass(frozen=True)
class FamilyFile:
    family: Annotated[list[TagFamily], Field(min_length=1)]

    def __post_init__(self) -> None:
        """Give each tag one place at most, which a table can name."""
        seen: set[tuple[str, str]] = set()
        for family in self.family:
            for tag in family.tags(tuple(family.groups)):
                if (family.dataset, tag) in seen:
                    raise ValueError(f"{tag!r} of {family.dataset} is in two groups; leave it in one")
                seen.add((family.dataset, tag))


def read_families(path: Path | None = None) -> list[TagFamily]:
    """Read tag families from a file, by default ours."""
    source = path or files("cmi.bench.analysis").joinpath("tag_families.toml")
    return read_config(source, FamilyFile, str(path or "tag_families.toml")).family
