"""Key: madmom's convolutional network (Korzeniowski and Widmer, ISMIR 2018), one of 24."""

from cmi.bench.listeners import Question
from cmi.bench.listeners.reference.rhythm import import_madmom, signal
from cmi.bench.tasks.key import parse
from cmi.errors import InputError


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
