"""Uploads: what is kept, what is refused, and that nothing hostile stays or takes the server along."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.arena.audio import decode


def encoded(samples, rate=8000, format="WAV", subtype=None) -> bytes:
    written = io.BytesIO()
    soundfile.write(written, samples, rate, format=format, subtype=subtype)
    return written.getvalue()


def sine(seconds=0.5, rate=8000, channels=1):
    wave = 0.3 * np.sin(2 * np.pi * 330 * np.arange(int(seconds * rate)) / rate)
    return np.column_stack([wave] * channels)


def wav_header(claimed: int, rate: int = 8000) -> bytes:
    """The head of a 16-bit mono WAV that says it has so many bytes of sound."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + claimed) + b"WAVE" + form + b"data" + struct.pack("<I", claimed)


def upload(visitor, content: bytes, name: str = "take.wav", **more):
    return visitor.post("/api/owner/sounds", files={"file": (name, content)}, **more)


def kept(settings) -> list[Path]:
    return sorted(settings.folder.iterdir()) if settings.folder.exists() else []


def test_an_upload_is_decoded_and_kept_under_a_name_of_our_own(owner, settings):
    content = encoded(sine())
    answer = upload(owner, content, "../../etc/cron.d/evil.wav")
    assert answer.status_code == 201, answer.text
    assert answer.json()["seconds"] == 0.5
    (file,) = kept(settings)
    assert file.suffix == ".flac"
    assert "evil" not in file.name
    played = owner.get(f"/media/{answer.json()['id']}")
    assert played.headers["content-type"] == "audio/flac"
    samples, _ = soundfile.read(io.BytesIO(played.content))
    expected, _ = soundfile.read(io.BytesIO(content))
    assert np.array_equal(samples, expected)


@pytest.mark.parametrize(
    ("format", "subtype"), [("FLAC", "PCM_24"), ("OGG", "VORBIS"), ("MP3", None), ("WAV", "FLOAT")]
)
def test_the_formats_that_people_have_are_taken(owner, format, subtype):
    assert upload(owner, encoded(sine(1.0, 44_100, 2), 44_100, format, subtype)).status_code == 201


def test_the_same_sound_twice_is_kept_once(owner, settings):
    first, second = (upload(owner, encoded(sine())).json() for _ in range(2))
    assert first == second
    assert len(kept(settings)) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not audio at all" * 100,
        b"<script>alert(1)</script>",
        b"RIFF",
        wav_header(0),
        wav_header(2**31) + b"\0" * 100,  # hours, says the header
        wav_header(2**32 - 37),
        encoded(sine())[:60],
        encoded(sine(), format="FLAC")[:-200],
        encoded(sine(1.0, 44_100), 44_100, "OGG", "VORBIS")[:2000],
        encoded(np.zeros((0, 1))),
        encoded(np.full(4000, np.nan), subtype="FLOAT"),
        encoded(np.full(4000, np.inf), subtype="FLOAT"),
        encoded(sine(0.01)),
        encoded(sine(0.5, 8000, 3)),
        encoded(sine(0.5, 400), 400),
        encoded(sine(), format="AIFF")[:30],
        b"\x1f\x8b" + b"\0" * 1000,
        b"PK\x03\x04" + b"\0" * 1000,
    ],
)
def test_what_is_not_whole_sound_is_refused_and_leaves_nothing(owner, settings, content):
    answer = upload(owner, content)
    assert (answer.status_code, answer.json()["code"]) == (422, "sound"), answer.text
    assert str(settings.folder) not in answer.text
    assert kept(settings) == []


def test_a_small_file_of_hours_of_silence_is_refused(owner, settings):
    bomb = encoded(np.zeros(8000 * 60 * 20, np.int16), format="FLAC")
    assert len(bomb) < settings.limits.upload_bytes
    answer = upload(owner, bomb)
    assert answer.status_code == 422
    assert "longer than the maximum of 600 s" in answer.json()["message"]
    assert kept(settings) == []


def test_an_upload_that_is_too_large_is_cut_off(owner, settings):
    large = b"\0" * (settings.limits.upload_bytes + 1)
    assert upload(owner, large).status_code == 413

    def endless():
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n'
        for _ in range(100):
            yield b"\0" * 100_000

    headers = {"content-type": "multipart/form-data; boundary=b"}
    assert owner.post("/api/owner/sounds", content=endless(), headers=headers).status_code == 413
    assert kept(settings) == []


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 400),
        (b"x", "multipart/form-data; boundary=b", 422),
        (b"--b\r\n\r\n", "multipart/form-data; boundary=b", 400),
        (
            b'--b\r\ncontent-disposition: form-data; name="file"\r\n\r\ntext\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            422,
        ),
        (
            b'--b\r\ncontent-disposition: form-data; name="x"; filename="f"\r\n\r\n\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            422,
        ),
    ],
)
def test_a_form_that_is_none_is_refused(owner, content, kind, status):
    answer = owner.post("/api/owner/sounds", content=content, headers={"content-type": kind})
    assert answer.status_code in (status, 400, 422), answer.text
    assert set(answer.json()) == {"code", "message"}


def test_who_may_not_upload_is_refused_before_the_body_is_read(annotator, client, origin):
    malformed = {"content-type": "multipart/form-data"}  # which would be another refusal, had it been read
    assert annotator.post("/api/owner/sounds", content=b"--b", headers=malformed).status_code == 403
    assert client.post("/api/owner/sounds", content=b"--b", headers=malformed | {"origin": origin}).status_code == 401


def test_a_decoder_that_runs_on_is_stopped(owner, settings, monkeypatch):
    from cmi.arena.web import uploads

    monkeypatch.setattr(uploads, "WALL_SECONDS", 0.05)
    answer = upload(owner, encoded(sine()))
    assert (answer.status_code, answer.json()["code"]) == (422, "sound")
    assert kept(settings) == []


def test_uploads_are_limited_in_number(sign_in, study, settings):
    owner = sign_in(study, "owner", uploads=settings.limits.uploads._replace(burst=1, rate=1e-6))
    assert [upload(owner, b"x").status_code for _ in range(3)] == [422, 429, 429]


def test_the_decoder_limits_itself(tmp_path):
    """In a process of its own: limits can't be raised again."""
    import subprocess
    import sys

    code = (
        "import resource; from cmi.arena.audio import decode; decode.limit_this_process()\n"
        "names = ('CPU', 'AS', 'FSIZE', 'CORE')\n"
        "print(*(resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[1] for name in names))\n"
        "try: bytes(3 * 1024**3)\nexcept MemoryError: print('no memory')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    limits = [decode.CPU_SECONDS, decode.MEMORY_BYTES, decode.FILE_BYTES, 0]
    assert said[:2] == [" ".join(map(str, limits)), "no memory"]
