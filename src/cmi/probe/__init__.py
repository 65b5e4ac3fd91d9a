"""Can a scorer be trusted? How it scores songs made worse, and how often it is right on pairs with a known winner."""
