"""How results are shown: tables for terminals, papers, spreadsheets and machines."""
