"""The arena's web server: routes, authentication, limits and pages."""
