from stand_in import make_noise, record


class BaseGenModel:
    sample_rate = 32_000
    duration = 15.0

    def generate(self, descriptions, progress=False, return_tokens=False):
        record("generate", descriptions=descriptions, duration=self.duration)
        return make_noise(1, 2, int(self.duration * self.sample_rate))
