import mir_eval.key
import pytest

from cmi.bench.tasks.key import parse, parse_paper, weighted
from cmi.features.key import TONICS, Key

KEYS = [Key(tonic, mode) for mode in ("major", "minor") for tonic in range(12)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Db major", "Db major"),
        ("C# major", "Db major"),
        ("C♯ minor.", "Db minor"),
        ("The key of this piece is F-sharp minor.", "Gb minor"),
        ("B flat major", "Bb major"),
        ("**Ab Major**", "Ab major"),
        ("f# minor", "Gb minor"),
        ("Am", "A minor"),
        ("Bbm", "Bb minor"),
        ("CM", "C major"),
        ("F#", "Gb major"),
        ("a minor", "A minor"),
        ("The song is in A minor", "A minor"),
        ("F# major (enharmonic Gb major)", "Gb major"),
        ("Cb major", "B major"),
        ("E minor, tempo 120", "E minor"),
    ],
)
def test_a_key_is_read_wherever_it_stands(answer, expected):
    assert str(parse(answer)) == expected


@pytest.mark.parametrize(
    "answer",
    ["", "The song is in a minor key", "C major or A minor", "H minor", "major", "B minor, later C major"],
)
def test_no_key_or_several_is_unparsed(answer):
    assert parse(answer) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The song is in a minor key", "A minor"),  # spaces go before the search
        ("C#m", "Db minor"),
        ("C#", "Db major"),
        ("Bb", "Bb major"),
        ("am", "A minor"),
        ("G minor or C major", "C major"),  # majors are tried first
        ("120 BPM, F minor", "F minor"),
        ("The key is F# minor", None),  # a sharp counts only as the second character
        ("E# minor", None),
        ("C4 major", "C major"),  # digits go too
    ],
)
def test_the_published_reading(answer, expected):
    key = parse_paper(answer)
    assert (str(key) if key else None) == expected


def test_weights_are_those_of_mir_eval():
    for reference in KEYS:
        for estimated in KEYS:
            assert weighted(reference, estimated) == mir_eval.key.weighted_score(str(reference), str(estimated))
    assert weighted(KEYS[0], None) == 0


def test_every_key_reads_back_from_its_name():
    for protocol in (parse, parse_paper):
        assert [protocol(f"{tonic} {mode}") for mode in ("major", "minor") for tonic in TONICS] == KEYS
