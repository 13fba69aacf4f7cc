"""Tables, names, files and calls that are meant to break something."""
