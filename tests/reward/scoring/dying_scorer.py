"""A scorer whose process dies at the first take called 20.wav, once; it notes every take that it is asked about."""

SOURCE = """
import os, signal
from pathlib import Path
import soundfile
from cmi import Score

class Level:
    def score(self, takes):
        for take in takes:
            with open("asked.txt", "a") as asked:
                asked.write(f"{take.audio.name}\\n")
            if take.audio.name == "20.wav" and not Path("killed").exists():
                Path("killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return [Score(float(soundfile.read(take.audio)[0].mean()), float(len(take.prompt.text))) for take in takes]
"""
