"""A demonstration of cmi in minutes: ranked takes, judged pairs, a probed scorer, scored answers, a page."""
