"""Test a scorer: on songs with known changes and flaws, and on pairs with a known winner."""
