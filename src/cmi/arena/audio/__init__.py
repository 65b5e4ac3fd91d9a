"""The arena's recordings: upload, decoding, measurement and playback."""
