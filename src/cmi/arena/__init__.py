"""Collect pairwise votes on music: invitations, web pages, votes and the statistics of a study."""
