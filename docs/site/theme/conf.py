"""Settings of Sphinx for the site; `python -m docs.site` calls it."""

import re
from pathlib import Path

from polars_microagg import __version__
from polars_microagg.core import registry

project = "polars_microagg"
release = version = __version__
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
html_theme = "furo"
html_title = f"polars_microagg {__version__}"
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = True
html_last_updated_fmt = None
show_authors = False
pygments_dark_style = "monokai"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
myst_heading_anchors = 5
nitpicky = True
# What is quoted in prose is often copied: quotes and dashes stay as they are typed.
smartquotes = False
exclude_patterns = ["files"]
# A block that shows a session or a fragment is not always what its language is.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]


def without_notes(*event):
    """Leave the notes of a method out of its call: they are on its page, above it."""
    _, _, name, _, _, lines = event
    method = name.removeprefix("polars_microagg.")
    if method in registry.methods():
        text = "\n".join(lines)
        lines[:] = re.sub(r"\nNotes\n-----\n.*?(?=\n\w+\n-+\n|\Z)", "\n", text, flags=re.S).split(
            "\n"
        )


def setup(app):
    """Read docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", without_notes, priority=100)
