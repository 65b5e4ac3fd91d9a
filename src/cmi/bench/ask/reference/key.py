"""Key: madmom's convolutional network (Korzeniowski and Widmer, ISMIR 2018), one of 24."""

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.reference.rhythm import import_madmom, signal
from cmi.bench.tasks.key import parse


class KeySkill:
    def __init__(self) -> None:
        import_madmom()
        from madmom.features.key import CNNKeyRecognitionProcessor

        self._network = CNNKeyRecognitionProcessor()

    def answer(self, question: Question) -> str:
        from madmom.features.key import key_prediction_to_label

        label = key_prediction_to_label(self._network(signal(question)))  # in sharps: F# minor
        key = parse(label)
        if key is None:
            raise InputError(f"madmom calls the key {label!r}")
        return str(key)
