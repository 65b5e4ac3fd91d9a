from stand_in import record


class LLMHandler:
    def __init__(self, persistent_storage_path=None):
        pass

    def initialize(
        self, checkpoint_dir, lm_model_path, backend="vllm", device="auto", offload_to_cpu=False, dtype=None
    ):
        record("initialize", lm_model_path=lm_model_path)
        return "ready", True
