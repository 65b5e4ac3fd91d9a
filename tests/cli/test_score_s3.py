"""`cmi score` on recordings in S3, of moto's server: the records of local files, resumed from the log."""

import json

import fsspec
import numpy as np
import pyarrow
import pytest
import soundfile
from pyarrow.parquet import write_table

from cmi._util import remote
from cmi._util.errors import InputError

pytest.importorskip("s3fs", reason="S3 needs the remote extra")
moto_server = pytest.importorskip("moto.server", reason="a server for S3 needs the test extra")
boto3 = pytest.importorskip("boto3")

SECRET = "a-secret-that-nobody-should-read"


@pytest.fixture(scope="module")
def endpoint():
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def credentials(endpoint, monkeypatch, tmp_path):
    """Those of the environment; none of the user's files are read."""
    settings = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield
    remote._file_system.cache_clear()
    fsspec.filesystem("s3").clear_instance_cache()


def test_takes_in_a_bucket_get_the_scores_of_local_files(score_command, checkpoint, credentials, endpoint, tmp_path):
    names = [f"{i}.flac" for i in range(6)]
    for i, name in enumerate(names):
        soundfile.write(tmp_path / name, np.random.default_rng(i).standard_normal(24_000 + 500 * i) / 10, 24_000)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    audio = [*names, "broken.wav", "nowhere.wav"]
    rows = {"audio": audio, "text": ["slow piano"] * len(audio), "reference": [names[0], *[None] * (len(audio) - 1)]}
    write_table(pyarrow.table(rows), tmp_path / "takes.parquet", row_group_size=3)
    bucket = boto3.resource("s3", endpoint_url=endpoint).create_bucket(Bucket="songs")
    for name in (*names, "broken.wav", "takes.parquet"):
        bucket.upload_file(str(tmp_path / name), f"a set/{name}")

    def score(manifest, *more):
        process = score_command("--manifest", manifest, "--model", checkpoint, "--device", "cpu", "--json", *more)
        out, said = process.communicate(timeout=280)
        assert process.returncode == 2
        assert said.strip().splitlines()[-1].startswith("cmi: 2 of 8 takes could not be scored"), said
        assert SECRET not in out + said
        return [json.loads(line) for line in out.splitlines()]

    log = tmp_path / "scores.jsonl"
    there = score("s3://songs/a set/takes.parquet", "--log", log)
    here = score(tmp_path / "takes.parquet")
    assert [one["audio"] for one in there] == [f"s3://songs/a set/{name}" for name in audio]
    assert there[-1]["error"] == "s3://songs/a set/nowhere.wav: No such file or directory"
    for one, other in zip(there, here, strict=True):
        assert {**one, "audio": "", "error": ""} == {**other, "audio": "", "error": ""}
    logged = log.read_text()
    assert len(logged.splitlines()) == 6
    bucket.upload_file(str(tmp_path / names[1]), f"a set/{names[2]}")  # another recording by the same name
    again = score("s3://songs/a set/takes.parquet", "--log", log)
    assert log.read_text().startswith(logged)
    assert len(log.read_text().splitlines()) == 7, "what did not change is not scored again"
    assert again[2]["musicality"] == there[1]["musicality"]


def test_without_credentials_or_a_server_one_sentence_says_so(credentials, monkeypatch):
    path = remote.to_path("s3://songs/take.wav")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:hidden@127.0.0.1:9")
    with pytest.raises(InputError, match=r"^s3://songs/take.wav: ") as refused:
        remote.open_file(path)
    assert not {"hidden", SECRET} & set(str(refused.value).replace(":", " ").split())
    remote._file_system.cache_clear()
    fsspec.filesystem("s3").clear_instance_cache()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(InputError, match=r"cannot be read \(NoCredentialsError\)"):
        remote.open_file(path)
