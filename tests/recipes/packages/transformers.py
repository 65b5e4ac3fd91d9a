class WhisperFeatureExtractor:
    @classmethod
    def from_pretrained(cls, name):
        return f"features of {name}"
