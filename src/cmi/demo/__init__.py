"""What cmi does, shown in minutes: takes ranked, pairs judged, a scorer probed, answers scored, a page."""
