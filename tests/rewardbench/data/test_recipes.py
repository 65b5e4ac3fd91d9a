"""A data set by recipe: taken from mirrors or a server on this machine, by hash, with what is missing said."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi._util.repositories import RecipeFile, RecipeSource, from_mirrors, from_web, get_files, is_complete
from cmi.cli import app
from cmi.rewardbench.data import data_sets
from cmi.rewardbench.data.recipes import Recipe, make_list, read_recipe

CONTENT = {"clips/a b.wav": b"one", "clips/b.wav": b"two", "page.html": b"<tr>"}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    ran = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def tree(root: Path, content: dict[str, bytes] = CONTENT) -> Path:
    for path, data in content.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def recipe(commit: str = "0" * 40) -> Recipe:
    source = RecipeSource("someone/music", commit, "CC0")
    files = [RecipeFile(source, path, hashlib.sha256(data).hexdigest(), len(data)) for path, data in CONTENT.items()]
    return Recipe("mine", {source.repository: source}, {file.place: file for file in files}, {}, {}, {})


@pytest.fixture
def committed(tmp_path: Path) -> tuple[Path, str]:
    """A work tree with the files in its first commit, and others in its second."""
    work = tree(tmp_path / "work")
    git(work, "init", "-q")
    git(work, "add", ".")
    git(work, "commit", "-qm", "first")
    first = git(work, "rev-parse", "HEAD")
    (work / "clips/b.wav").write_bytes(b"changed later")
    git(work, "commit", "-qam", "second")
    return work, first


@needs_git
@pytest.mark.parametrize("place", ["someone+music/repo", "someone+music", "someone/music", "music.git"])
def test_a_bare_mirror_gives_the_files_of_the_pinned_commit(tmp_path: Path, committed: tuple[Path, str], place: str):
    work, first = committed
    bare = tmp_path / "mirrors" / place
    bare.parent.mkdir(parents=True)
    git(tmp_path, "clone", "-q", "--bare", str(work), str(bare))
    assert get_files(recipe(first).files, tmp_path / "data", from_mirrors(tmp_path / "mirrors")) == []
    found = {path: (tmp_path / "data/someone+music" / path).read_bytes() for path in CONTENT}
    assert found == CONTENT


@needs_git
def test_a_clone_with_another_version_checked_out_gives_the_pinned_one(tmp_path: Path, committed: tuple[Path, str]):
    work, first = committed
    (tmp_path / "mirrors/someone").mkdir(parents=True)
    work.rename(tmp_path / "mirrors/someone/music")
    assert get_files(recipe(first).files, tmp_path / "data", from_mirrors(tmp_path / "mirrors")) == []
    assert (tmp_path / "data/someone+music/clips/b.wav").read_bytes() == b"two"


def test_what_is_missing_or_another_file_is_named_and_the_rest_is_brought(tmp_path: Path):
    tree(tmp_path / "mirrors/someone+music", {"clips/a b.wav": b"one", "page.html": b"<td>"})
    missing = get_files(recipe().files, tmp_path / "data", from_mirrors(tmp_path / "mirrors"))
    reasons = {one.place: one.reason for one in missing}
    assert "another file than the listed one" in reasons["someone+music/page.html"]
    assert reasons["someone+music/clips/b.wav"] == f"no someone+music/clips/b.wav in {tmp_path / 'mirrors'}"
    assert (tmp_path / "data/someone+music/clips/a b.wav").read_bytes() == b"one"
    assert not (tmp_path / "data/someone+music/page.html").exists()


def test_the_same_call_brings_what_was_missing_and_nothing_twice(tmp_path: Path):
    mirrors = tmp_path / "mirrors"
    tree(mirrors / "someone+music", {"clips/a b.wav": b"one"})
    assert len(get_files(recipe().files, tmp_path / "data", from_mirrors(mirrors))) == 2
    tree(mirrors / "someone+music")
    (mirrors / "someone+music/clips/a b.wav").unlink()  # not asked for again
    assert not is_complete(recipe().files, tmp_path / "data")
    assert get_files(recipe().files, tmp_path / "data", from_mirrors(mirrors)) == []
    assert is_complete(recipe().files, tmp_path / "data")


def test_mirrors_that_are_not_there_are_one_sentence(tmp_path: Path):
    with pytest.raises(InputError, match="not a folder"):
        from_mirrors(tmp_path / "nowhere")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server of what is in the folder www."""
    www = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with ThreadingHTTPServer(("127.0.0.1", 0), www) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_a_server_is_asked_for_the_pinned_commit_and_quoted_paths(tmp_path: Path, server: str):
    tree(tmp_path / "www/someone/music" / ("0" * 40))
    assert get_files(recipe().files, tmp_path / "data", from_web(server)) == []
    assert (tmp_path / "data/someone+music/clips/a b.wav").read_bytes() == b"one"


def test_another_file_from_a_server_is_not_kept(tmp_path: Path, server: str):
    tree(tmp_path / "www/someone/music" / ("0" * 40), dict.fromkeys(CONTENT, b"else"))
    missing = get_files(recipe().files, tmp_path / "data", from_web(server))
    assert [("another file" in one.reason) for one in missing] == [True] * 3
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_files_that_a_server_lacks_do_not_keep_the_others_away(tmp_path: Path, server: str, monkeypatch):
    monkeypatch.setattr("cmi._util.repositories.GIVE_UP", 1)  # a repository that is gone is not a dead network
    tree(tmp_path / "www/someone/music" / ("0" * 40), {"page.html": CONTENT["page.html"]})
    missing = get_files(recipe().files, tmp_path / "data", from_web(server))
    assert [one.place.rpartition("/")[2] for one in missing] == ["a b.wav", "b.wav"]
    assert all("404" in one.reason for one in missing)
    assert (tmp_path / "data/someone+music/page.html").read_bytes() == CONTENT["page.html"]


def test_a_dead_network_is_not_waited_for_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cmi._util.fetch.ATTEMPTS", 1)
    monkeypatch.setattr("cmi._util.repositories.GIVE_UP", 2)
    asked = []

    def bring(file: RecipeFile, path: Path) -> None:
        asked.append(file.place)
        from_web("http://127.0.0.1:9", wait=0)(file, path)

    with pytest.raises(InputError, match="--from"):
        get_files(recipe().files, tmp_path / "data", bring)
    assert len(asked) == 2


@pytest.fixture
def own_recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    one = recipe()
    monkeypatch.setattr("cmi.rewardbench.data.download.read_recipe", lambda name: one)
    return one


def test_the_command_says_what_is_missing_goes_on_and_resumes(tmp_path: Path, own_recipe: Recipe):
    tree(tmp_path / "mirrors/someone+music", {"clips/a b.wav": b"one", "clips/b.wav": b"two"})
    command = ["data", "get", "cmi-real", "--from", str(tmp_path / "mirrors"), "--folder", str(tmp_path / "data")]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0
    assert "1 files are missing" in first.stderr and "page.html" in first.stderr
    assert (tmp_path / "data/cmi-real/someone+music/clips/b.wav").exists()
    tree(tmp_path / "mirrors/someone+music")
    second = CliRunner().invoke(app, command)
    assert second.exit_code == 0 and "missing" not in second.stderr
    assert (tmp_path / "data/cmi-real/someone+music/page.html").exists()
    (tmp_path / "data/cmi-real/someone+music/page.html").write_bytes(b"changed")
    checked = CliRunner().invoke(app, ["data", "check", "cmi-real", "--folder", str(tmp_path / "data")])
    assert isinstance(checked.exception, InputError) and "page.html: changed" in str(checked.exception)


def test_mirrors_with_nothing_of_it_are_an_error(tmp_path: Path, own_recipe: Recipe):
    (tmp_path / "mirrors").mkdir()
    found = CliRunner().invoke(app, ["data", "get", "cmi-real", "--from", str(tmp_path / "mirrors")])
    assert isinstance(found.exception, InputError) and "none of its 3 files" in str(found.exception)


def test_mirrors_are_for_recipes_alone():
    found = CliRunner().invoke(app, ["data", "get", "pam", "--from", "."])
    assert isinstance(found.exception, InputError) and "pam is not one" in str(found.exception)


def test_the_shipped_recipe_is_in_order():
    shipped = read_recipe("cmi-real")
    assert data_sets()["cmi-real"].size == shipped.size
    assert all(len(file.hash) == 64 and file.size for file in shipped.files.values())
    assert all(len(source.commit) == 40 and source.licence for source in shipped.sources.values())
    used = {file.source.repository for file in shipped.files.values()}
    assert used == set(shipped.sources)


def test_a_list_of_hashes_is_made_of_all_that_groups_name(tmp_path: Path):
    (tmp_path / "small.toml").write_text(
        '[[source]]\nrepository = "someone/music"\ncommit = "c"\nlicence = "CC0"\n'
        "[[groups.text]]\nname = 'words'\nsource = 'someone/music'\nfiles = 'clips/(?P<key>.+)\\.wav'\nsystem = 's'\n"
        "text = { rule = 'html', file = 'page.html' }\n"
    )
    tree(tmp_path / "mirrors/someone+music", {**CONTENT, "else.wav": b"not named"})
    (tmp_path / "small.sha256").write_text(make_list("small", tmp_path / "mirrors", tmp_path))
    found = read_recipe("small", tmp_path)
    assert {file.path: file.size for file in found.files.values()} == {path: len(d) for path, d in CONTENT.items()}
