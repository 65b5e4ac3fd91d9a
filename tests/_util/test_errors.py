import pickle

from cmi._util.errors import InputError, MissingExtra


def test_errors_come_out_of_worker_processes_as_they_went_in():
    for error in (InputError("a.wav: empty"), MissingExtra("sung lyrics", "vocals")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
    assert str(error) == "sung lyrics needs the vocals extra: pip install 'cmi[vocals]'"
