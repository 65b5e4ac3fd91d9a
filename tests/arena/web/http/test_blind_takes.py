"""What an annotator receives never tells which system made a take, nor that a pair was there before."""

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.arena.audio import sounds
from cmi.arena.store import pairs, projects

SECRET = "SunoV5"
RATE = 44_100
FIELDS = ("title", "copyright", "software", "artist", "comment", "album", "genre")


def samples(hertz: float, rate: int = RATE) -> np.ndarray:
    moments = np.arange(rate) / rate
    return np.stack([0.2 * np.sin(2 * np.pi * hertz * moments)] * 2, axis=1)


def written(path: Path, hertz: float, format_: str, subtype: str | None = None) -> Path:
    """A file with the system's name in every tag that libsndfile can write."""
    rate = 48_000 if subtype == "OPUS" else RATE
    with soundfile.SoundFile(path, "w", rate, 2, subtype, format=format_) as file:
        for name in FIELDS:
            setattr(file, name, f"{SECRET} {name}")
        file.write(samples(hertz, rate))
    return path


def id3v2(frame: bytes = b"TIT2") -> bytes:
    text = b"\x03" + SECRET.encode()
    body = frame + struct.pack(">I", len(text)) + b"\0\0" + text
    size = len(body)
    return b"ID3\x03\0\0" + bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127]) + body


def id3v1() -> bytes:
    return b"TAG" + SECRET.encode().ljust(125, b"\0")


def ape() -> bytes:
    value = SECRET.encode()
    item = struct.pack("<II", len(value), 0) + b"Artist\0" + value
    return item + b"APETAGEX" + struct.pack("<IIII8x", 2000, len(item) + 32, 1, 0)


def chunk(name: bytes) -> bytes:
    content = SECRET.encode().ljust(602, b"\0")
    return name + struct.pack("<I", len(content)) + content


def mp3_with_tags(path: Path, hertz: float) -> Path:
    plain = io.BytesIO()
    soundfile.write(plain, samples(hertz), RATE, format="MP3")
    path.write_bytes(id3v2() + plain.getvalue() + ape() + id3v1())
    return path


def wav_with_chunks(path: Path, hertz: float) -> Path:
    plain = io.BytesIO()
    soundfile.write(plain, samples(hertz), RATE, format="WAV")
    head, rest = plain.getvalue()[:12], plain.getvalue()[12:]
    content = head + chunk(b"bext") + chunk(b"iXML") + rest + chunk(b"id3 ") + chunk(b"LIST")
    path.write_bytes(content[:4] + struct.pack("<I", len(content) - 8) + content[8:])
    return path


def flac_with_picture(path: Path, hertz: float) -> Path:
    plain = written(path, hertz, "FLAC").read_bytes()
    picture = struct.pack(">II9sI", 3, 9, b"image/png", len(SECRET)) + SECRET.encode() + struct.pack(">IIIII", *[0] * 5)
    head = bytes([plain[4] & 127]) + plain[5:42]  # STREAMINFO, which is then not the last block
    block = bytes([6]) + struct.pack(">I", len(picture))[1:] + picture
    path.write_bytes(b"fLaC" + head + block + plain[42:])
    return path


MAKERS: dict[str, Callable[[Path, float], Path]] = {
    "wav": lambda path, hertz: written(path, hertz, "WAV"),
    "wavex": lambda path, hertz: written(path, hertz, "WAVEX", "PCM_24"),
    "float wav": lambda path, hertz: written(path, hertz, "WAV", "FLOAT"),
    "flac": lambda path, hertz: written(path, hertz, "FLAC"),
    "vorbis": lambda path, hertz: written(path, hertz, "OGG", "VORBIS"),
    "opus": lambda path, hertz: written(path, hertz, "OGG", "OPUS"),
    "mp3": lambda path, hertz: written(path, hertz, "MP3"),
    "mp3 with ID3 and APE": mp3_with_tags,
    "wav with bext and id3": wav_with_chunks,
    "flac with a picture": flac_with_picture,
}


@pytest.fixture
def make_take_study(database, tmp_path):
    def make(makers, **settings):
        """A pair of each two takes; the system's name is also in the files' names."""
        project = projects.create(database, "Blind", {"heard_share": 0.0, "gold_share": 0.0} | settings)
        with database.writing() as connection:
            for number, maker in enumerate(makers):
                ids = []
                for side, hertz in (("a", 300 + 10 * number), ("b", 700 + 10 * number), ("reference", 1200 + number)):
                    path = maker(tmp_path / f"{SECRET}-{number}-{side}", hertz)
                    assert SECRET.encode() in path.read_bytes()
                    ids.append(sounds.register(connection, project.id, path))
                a, b, reference = ids
                new = pairs.NewPair(f"{number}", f"tone {number}", a, b, "", reference, SECRET, f"not {SECRET}")
                pairs.add(connection, project.id, project.settings, new)
        return project

    return make


def received(answer) -> bytes:
    head = "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
    return f"{answer.url}\n{head}\n".encode() + answer.content


@pytest.mark.parametrize("name", MAKERS)
def test_no_byte_that_an_annotator_receives_names_the_system(sign_in, make_take_study, name):
    annotator = sign_in(make_take_study([MAKERS[name]]))
    shown = annotator.get("/api/next")
    view = shown.json()["view"]
    begun = annotator.post(f"/api/views/{view}/begin")
    urls = [take["url"] for take in begun.json()["takes"].values()]
    urls.append(shown.json()["instruction"]["reference"]["url"])
    played = [annotator.get(url) for url in urls]
    answers = [shown, begun, *played, annotator.get(urls[0], headers={"range": "bytes=10-"})]
    answers += [annotator.vote(view), annotator.get("/api/views/recent"), annotator.get(f"/api/views/{view}")]
    assert {answer.status_code for answer in answers} == {200, 206}
    for answer in answers:
        assert SECRET.lower().encode() not in received(answer).lower()
    for answer in played:  # and they are sounds, of a second each
        decoded, rate = soundfile.read(io.BytesIO(answer.content))
        assert len(decoded) / rate == pytest.approx(1.0, abs=0.1)
        assert np.abs(decoded).max() == pytest.approx(0.2, abs=0.05)


def test_takes_of_different_formats_look_alike(sign_in, make_take_study):
    annotator = sign_in(make_take_study(MAKERS.values()))
    heads = set()
    for _ in MAKERS:
        view = annotator.begun()
        for side in "ab":
            answer = annotator.get(f"/media/{view}/{side}")
            names = frozenset(answer.headers) - {"content-length"}
            heads.add((names, answer.headers["content-type"], answer.content[:4]))
        annotator.vote(view)
    assert len(heads) == 1


def test_a_hidden_repeat_has_no_address_tag_or_id_that_was_there_before(sign_in, make_take_study):
    annotator = sign_in(make_take_study([MAKERS["wav"]] * 8, repeat_share=0.4, overlap_share=0.0))
    said: dict[str, str] = {}
    texts = []
    while "view" in (shown := annotator.get("/api/next").json()):
        view = shown["view"]
        texts.append(shown["instruction"]["text"])
        begun = annotator.post(f"/api/views/{view}/begin").json()
        sounds_shown = [*begun["takes"].values(), shown["instruction"]["reference"]]
        marks = {view} | {one["url"] for one in sounds_shown}
        marks |= {annotator.get(one["url"]).headers["etag"] for one in sounds_shown}
        marks |= {annotator.vote(view).json()["vote"]}
        assert len(marks) == 8
        assert not marks & set(said)
        said |= dict.fromkeys(marks, view)
    assert len(texts) > len(set(texts)) == 8  # there were repeats
