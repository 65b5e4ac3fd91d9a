from stand_in import record


def enhance_webdataset_config(config):
    config["urls"] = [config.pop("pattern")]


class DiffusionWebDataset:
    def __init__(
        self,
        urls,
        id_list_jsonl=None,
        max_frames=2048,
        sampling_rate=44100,
        downsample_rate=2048,
        shuffle=True,
        num_samples=-1,
        multiple_styles=False,
        filler="pad_right",
        silence_latent_path=None,
        resample_by_duration_threshold=None,
        ignore_by_duration_threshold=None,
        tokenizer_path=None,
        lrc_upsample_factor=4,
        return_word_info=False,
        always_crop_from_beginning=False,
        always_use_style_index=None,
        phonemizer_checkpoint=None,
    ):
        record("DiffusionWebDataset", urls=urls, multiple_styles=multiple_styles, max_frames=max_frames)

    def custom_collate_fn(self, batch):
        (only,) = batch
        return only
