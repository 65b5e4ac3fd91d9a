from stand_in import record


class AudioTextDataProcessor:
    def __init__(self, data_root, clap_config, tokenizer, max_tokens, **kwargs):
        record("AudioTextDataProcessor", data_root=data_root, max_tokens=max_tokens, **clap_config)

    def process(self, item):
        record("process", **item)
        return (item["name"], "clips", "mask", "ids", "attention")
