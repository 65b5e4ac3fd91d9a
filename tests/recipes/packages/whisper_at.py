from stand_in import record


def load_model(name, device=None, download_root=None, in_memory=False, at_low_compute=False):
    record("whisper_at", name=name)
    return Transcriber()


class Transcriber:
    def transcribe(self, audio):
        return {"text": " Some days I'm rich. Thanks for watching!"}
