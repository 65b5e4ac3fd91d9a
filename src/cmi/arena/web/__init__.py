"""The arena over HTTP: the app, its routes, authentication, limits, and the pages that people see."""
