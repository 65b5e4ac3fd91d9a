from stand_in import record


class AceStepHandler:
    def __init__(self):
        pass

    def initialize_service(
        self,
        project_root,
        config_path,
        device="auto",
        use_flash_attention=False,
        compile_model=False,
        offload_to_cpu=False,
        offload_dit_to_cpu=False,
        quantization=None,
        prefer_source=None,
    ):
        record("initialize_service", config_path=config_path)
        return ("ready", True) if config_path == "acestep-v15-turbo" else ("no such model", False)
