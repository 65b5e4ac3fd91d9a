"""CMI-RM: two numbers, musicality and alignment, for a take under any mix of text, lyrics and reference audio."""
