"""Present results: tables for terminals, papers and programs; HTML pages and plots in one palette."""
