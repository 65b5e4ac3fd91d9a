class GenerationConfig:
    def __init__(self, **kwargs):
        self.given = kwargs
