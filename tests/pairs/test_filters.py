"""What is left out, and why; a copy is found again after what happens to files, and other takes are not copies."""

import json

import numpy as np
import pytest
import soundfile

from cmi.audio import content_hash, measure_peaks
from cmi.pairs import checks
from cmi.pairs.checks import Checker
from cmi.pairs.make import PairSettings, make_pairs
from cmi.pairs.pool import read_pool

from .conftest import RATE, melody


def reasons(manifest, checker, settings=None) -> dict[str, str]:
    made = make_pairs(read_pool([manifest]), settings or PairSettings(same_system=True), checker)
    return {one.take.path.name: one.reason for one in made.left_out}


@pytest.fixture
def spoil(tmp_path):
    """Write four good takes of one prompt, and others that are given by name."""

    def write(others: dict[str, object], **columns):
        rows = []
        for number in range(4):
            soundfile.write(tmp_path / f"good{number}.wav", melody(number), RATE)
            rows.append({"audio": f"good{number}.wav", "text": "a tune"})
        for name, content in others.items():
            if isinstance(content, bytes):
                (tmp_path / name).write_bytes(content)
            elif content is not None:
                soundfile.write(tmp_path / name, content, RATE)
            rows.append({"audio": name, "text": "a tune", **columns})
        (tmp_path / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / "takes.jsonl"

    return write


def test_each_reason_is_found(spoil, tmp_path, checker):
    whole = tmp_path / "whole.wav"
    soundfile.write(whole, melody(50), RATE)
    manifest = spoil(
        {
            "missing.wav": None,
            "page.wav": b"<html>too many requests</html>",
            "empty.wav": b"",
            "cut.wav": whole.read_bytes()[:90_000],
            "short.wav": melody(51, 2.0),
            "blink.wav": melody(51, 0.02),
            "silent.wav": np.zeros(5 * RATE),
            "clipped.wav": np.clip(melody(52) * 20, -1, 1),
            "same.wav": (soundfile.write(tmp_path / "x.wav", melody(0), RATE), (tmp_path / "x.wav").read_bytes())[1],
            "quieter.wav": melody(1) * 0.5,
        }
    )
    assert reasons(manifest, checker) == {
        "missing.wav": "missing",
        "page.wav": "unreadable",
        "empty.wav": "unreadable",
        "cut.wav": "cut off",
        "short.wav": "short",
        "blink.wav": "short",
        "silent.wav": "silent",
        "clipped.wav": "clipped",
        "same.wav": "same file",
        **near_identical(manifest, checker),
    }


def near_identical(manifest, checker) -> dict[str, str]:
    """One of the two that are the same tune at two levels; which of them depends on their bytes."""
    found = {name: why for name, why in reasons(manifest, checker).items() if why == "near-identical"}
    assert len(found) == 1 and set(found) <= {"quieter.wav", "good1.wav"}
    return found


def test_a_file_that_is_not_the_one_generated_is_left_out(spoil, tmp_path, checker):
    manifest = spoil({"other.wav": melody(60)}, sha256="0" * 64)
    assert reasons(manifest, checker) == {"other.wav": "changed"}
    manifest = spoil({"other.wav": melody(60)}, sha256=content_hash(tmp_path / "other.wav"))
    assert reasons(manifest, checker) == {}


def test_a_take_whose_reference_cannot_be_read_is_left_out(spoil, checker):
    assert reasons(spoil({"lost.wav": melody(61)}, reference="nowhere.wav"), checker) == {"lost.wav": "unreadable"}


@pytest.mark.parametrize(
    "change",
    [lambda s: s * 0.1, lambda s: s[int(0.6 * RATE) :], lambda s: np.pad(s, (RATE, 0)), lambda s: s[: 4 * RATE]],
    ids=["gain", "begins later", "begins with silence", "ends earlier"],
)
def test_a_changed_copy_is_found(spoil, checker, change):
    assert list(reasons(spoil({"copy.wav": change(melody(2))}), checker).values()) == ["near-identical"]


def test_a_coded_copy_is_found(spoil, tmp_path, checker):
    soundfile.write(tmp_path / "coded.ogg", melody(3), RATE)
    assert list(reasons(spoil({"copy.ogg": (tmp_path / "coded.ogg").read_bytes()}), checker).values()) == [
        "near-identical"
    ]


def test_takes_of_different_tunes_are_no_copies(spoil, checker):
    assert reasons(spoil({f"{seed}.wav": melody(seed) for seed in range(100, 130)}), checker) == {}


def test_the_same_sound_by_two_systems_is_left_out_only_if_it_is_the_same_file(spoil, tmp_path, checker):
    soundfile.write(tmp_path / "x.wav", melody(0), RATE)
    same = (tmp_path / "x.wav").read_bytes()
    manifest = spoil({"copy.wav": same, "softer.wav": melody(1) * 0.5}, generator="other")
    assert list(reasons(manifest, checker).values()) == ["same file"]


def test_two_steady_tones_are_no_copies(spoil, checker):
    moments = np.arange(5 * RATE) / RATE
    tones = {f"{hertz}.wav": 0.3 * np.sin(2 * np.pi * hertz * moments) for hertz in (220, 247)}
    assert reasons(spoil(tones), checker) == {}


def test_a_second_run_decodes_nothing(spoil, checker, monkeypatch):
    manifest = spoil({"page.wav": b""})
    first = reasons(manifest, checker)
    monkeypatch.setattr(checks, "_check", lambda path: pytest.fail(f"{path} was decoded again"))
    monkeypatch.setattr(checks, "content_hash", lambda path: pytest.fail(f"{path} was read again"))
    with Checker(workers=1) as again:
        assert reasons(manifest, again) == first == {"page.wav": "unreadable"}


def test_a_second_run_finds_the_same_digits(spoil, checker):
    pool = read_pool([spoil({})])
    first, second = (make_pairs(pool, PairSettings(same_system=True), checker) for _ in range(2))
    assert [pair.a.check for pair in first.pairs] == [pair.a.check for pair in second.pairs]


def test_a_file_that_changed_is_checked_again(spoil, tmp_path, checker):
    manifest = spoil({"later.wav": b"not yet"})
    assert reasons(manifest, checker) == {"later.wav": "unreadable"}
    soundfile.write(tmp_path / "later.wav", melody(70), RATE)
    assert reasons(manifest, checker) == {}


def test_processes_find_what_one_finds(spoil, tmp_path):
    manifest = spoil({f"{seed}.wav": melody(seed, 4) for seed in range(100, 110)} | {"page.wav": b""})
    with Checker(workers=2, folder=tmp_path / "two") as two, Checker(workers=1, folder=tmp_path / "one") as one:
        assert reasons(manifest, two) == reasons(manifest, one) == {"page.wav": "unreadable"}


def test_peaks_of_a_stereo_file_are_of_either_channel(tmp_path):
    sound = np.zeros((RATE, 2))
    sound[: RATE // 4, 1] = 1.0
    soundfile.write(tmp_path / "x.wav", sound, RATE, subtype="FLOAT")
    found = measure_peaks(tmp_path / "x.wav")
    assert (found.seconds, found.peak, found.clipped, found.is_whole) == (1.0, 1.0, 0.25, True)
