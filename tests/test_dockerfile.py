"""The Dockerfile, which no test builds: what it copies is there and is sent, its extras exist, its user is not root."""

import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TEXT = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text("utf-8"))
LINES = [line.partition(" ") for line in TEXT.splitlines() if line and not line.startswith("#")]


def values_of(instruction: str) -> list[str]:
    return [rest for name, _, rest in LINES if name == instruction]


def copied() -> set[str]:
    """What comes from the checkout."""
    lines = [shlex.split(rest) for rest in values_of("COPY") if not rest.startswith("--from=")]
    return {source for words in lines for source in words[:-1]}


def test_what_is_copied_exists_and_is_sent_to_the_builder():
    for source in copied():
        assert (ROOT / source).exists()
        ignored = True
        for rule in (ROOT / ".dockerignore").read_text("utf-8").split("\n"):
            if fnmatch(source, rule.removeprefix("!")):
                ignored = not rule.startswith("!")
        assert not ignored, source


def test_everything_that_builds_the_package_is_copied():
    needed = {
        "pyproject.toml",
        "constraints.txt",
        PROJECT["project"]["readme"],
        *PROJECT["project"]["license-files"],
        *(folder.split("/")[0] for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]),
    }
    assert needed <= copied()


def test_the_extras_are_those_of_the_project_and_torch_is_for_a_cpu_unless_asked():
    arguments = dict(line.split("=", 1) for line in values_of("ARG"))
    assert set(arguments["EXTRAS"].split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert arguments["TORCH"] == "cpu"
    assert any("-c constraints.txt" in line and "/whl/$TORCH" in line for line in values_of("RUN"))


def test_the_command_is_the_project_s_and_does_not_run_as_root():
    assert values_of("ENTRYPOINT") == ['["cmi"]'] and "cmi" in PROJECT["project"]["scripts"]
    assert int(values_of("USER")[-1]) > 0
    places = [place for place, (name, _, _) in enumerate(LINES) if name in ("USER", "RUN", "COPY")]
    assert LINES[places[-1]][0] == "USER"  # nothing is installed or copied as another user afterwards
