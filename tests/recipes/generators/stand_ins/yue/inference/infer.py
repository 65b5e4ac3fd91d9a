"""YuE's script with its options. As there, the last section is not generated, and the tags are part of file names."""

import argparse
import re
from pathlib import Path

import soundfile
import torch
from stand_in import make_noise, record

parser = argparse.ArgumentParser()
parser.add_argument("--stage1_model")
parser.add_argument("--stage2_model")
parser.add_argument("--max_new_tokens")
parser.add_argument("--repetition_penalty")
parser.add_argument("--run_n_segments")
parser.add_argument("--stage2_batch_size")
parser.add_argument("--genre_txt", required=True)
parser.add_argument("--lyrics_txt", required=True)
parser.add_argument("--use_audio_prompt", action="store_true")
parser.add_argument("--audio_prompt_path")
parser.add_argument("--prompt_start_time")
parser.add_argument("--prompt_end_time")
parser.add_argument("--use_dual_tracks_prompt", action="store_true")
parser.add_argument("--vocal_track_prompt_path")
parser.add_argument("--instrumental_track_prompt_path")
parser.add_argument("--output_dir")
parser.add_argument("--keep_intermediate", action="store_true")
parser.add_argument("--disable_offload_model", action="store_true")
parser.add_argument("--cuda_idx")
parser.add_argument("--seed")
parser.add_argument("--basic_model_config")
parser.add_argument("--resume_path")
parser.add_argument("--config_path")
parser.add_argument("--vocal_decoder_path")
parser.add_argument("--inst_decoder_path")
parser.add_argument("-r", "--rescale", action="store_true")
given = parser.parse_args()
tags = Path(given.genre_txt).read_text(encoding="utf-8")
lyrics = Path(given.lyrics_txt).read_text(encoding="utf-8")
record("infer.py", tags=tags, lyrics=lyrics, **{key: value for key, value in vars(given).items() if value})
sections = len(re.findall(r"\[\w+\]", lyrics))
count = min(int(given.run_n_segments), sections - 1)
if "unlucky" in tags:
    raise ValueError("invalid pairs of tokens")
torch.manual_seed(int(given.seed))
samples = make_noise(count * int(given.max_new_tokens) * 441)
Path(given.output_dir).mkdir()
soundfile.write(Path(given.output_dir) / f"{tags.replace(' ', '-')}_{'x' * 90}_mixed.mp3", samples.numpy(), 44_100)
