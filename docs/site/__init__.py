"""Build the site of the documentation: `python -m docs.site OUT`."""
