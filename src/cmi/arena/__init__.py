"""A place to collect pairwise votes on music: invites, pages, votes, and the statistics of a study."""
