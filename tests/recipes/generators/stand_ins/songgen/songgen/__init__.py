# ruff: noqa: F401
from .modeling_songgen_dual_track import SongGenDualTrackForConditionalGeneration
from .modeling_songgen_mixed import SongGenMixedForConditionalGeneration
from .processing_songgen import SongGenProcessor

print("songgen prints this when it is imported")
