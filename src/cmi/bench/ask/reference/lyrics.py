"""Lyrics: moonshine's small English speech recogniser, which was trained on speech, not on singing."""

from cmi.audio import Waveform
from cmi.bench.ask import Question
from cmi.bench.ask.ask import clip
from cmi.bench.ask.reference import require

RATE = 16_000


class LyricsSkill:
    def __init__(self) -> None:
        require("lyrics", "moonshine-voice")
        from moonshine_voice import ModelArch, get_model_path
        from moonshine_voice.transcriber import Transcriber

        self._transcriber = Transcriber(str(get_model_path("tiny-en")), ModelArch.TINY)

    def answer(self, question: Question) -> str:
        return self.transcribe(clip(question, RATE))

    def transcribe(self, waveform: Waveform) -> str:
        """The words of sound at RATE."""
        found = self._transcriber.transcribe_without_streaming(waveform.samples.tolist(), RATE)
        return " ".join(line.text.strip() for line in found.lines)
