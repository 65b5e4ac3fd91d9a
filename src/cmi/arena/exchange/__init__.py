"""Import pairs into a project, and export its votes."""
