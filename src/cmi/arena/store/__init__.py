"""The arena's database: projects, people, pairs, assignments and votes."""
