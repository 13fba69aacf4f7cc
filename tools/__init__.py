"""What maintainers run: the checks of a release."""
