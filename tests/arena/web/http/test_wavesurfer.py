import pytest

from cmi._util.errors import InputError
from cmi.arena.web.routes.pages import FILES, WHEEL, read_player


@pytest.fixture(scope="module")
def player() -> dict[str, bytes]:
    try:
        return read_player()
    except InputError as error:
        pytest.skip(str(error))


def test_the_player_is_the_published_one_with_its_licence(player):
    assert player.keys() == FILES.keys()
    assert b"WaveSurfer" in player["wavesurfer.js"]
    assert b"BSD 3-Clause License" in player["wavesurfer-licence.txt"]


def test_another_file_in_its_place_is_refused(tmp_path):
    (tmp_path / WHEEL.file_name).write_bytes(b"PK")
    with pytest.raises(InputError, match=r"is not the wavesurfer 0\.3\.9 that was published"):
        read_player(tmp_path)
