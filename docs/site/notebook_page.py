"""Notebooks as pages of the site: their prose, code and outputs in Markdown."""

import re
import textwrap
from typing import Any

__all__ = ["FOLDER", "Notebook", "notebook_page", "said", "text_of"]

FOLDER = "docs/notebooks"
WIDE = 100

Notebook = dict[str, Any]


def text_of(lines: str | list[str]) -> str:
    """Return the text of a field, which may be written as a list of lines.

    >>> text_of(["a ", "b"])
    'a b'
    """
    return lines if isinstance(lines, str) else "".join(lines)


def said(notebook: Notebook) -> list[list[str]]:
    """Return the words of every output, cell by cell; drawings and HTML tables are left out."""
    return [[_words(output) for output in cell.get("outputs", ())] for cell in notebook["cells"]]


def _words(output: Notebook) -> str:
    if output["output_type"] == "stream":
        return text_of(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return text_of(output["data"]["text/plain"])


def _block(output: Notebook) -> str:
    """Return an output as Markdown: a drawing as it is, a frame as a table, anything else as text."""
    forms = {form: text_of(text) for form, text in output.get("data", {}).items()}
    if drawn := forms.get("image/svg+xml"):
        return f"```{{raw}} html\n{drawn.rstrip()}\n```"
    if table := _table(forms.get("text/html", "")):
        return table
    # A sentence is broken as in the other pages; a table of text is as wide as it is.
    lines = _words(output).rstrip().splitlines()
    text = "\n".join(line if "│" in line else textwrap.fill(line, WIDE) for line in lines)
    return f"```text\n{text}\n```"


def _table(html: str) -> str:
    r"""Return the HTML table of a frame in Markdown, without the types and the quotes of texts.

    >>> row = "<tr><th>a</th></tr></thead><tbody><tr><td>&quot;x*|&quot;</td></tr>"
    >>> print(_table(row))
    | a |
    | --- |
    | x\*\| |
    """
    head, _, body = html.partition("<tbody>")
    rows = [re.findall(r"<th>(.*?)</th>", head)]
    rows += [re.findall(r"<td>(.*?)</td>", row) for row in body.split("</tr>") if "<td>" in row]
    rows.insert(1, ["---"] * len(rows[0]))
    marked = re.compile(r"([*`|\[])")
    lines = [[marked.sub(r"\\\1", cell.replace("&quot;", "")) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows[0] else ""


def notebook_page(notebook: Notebook) -> str:
    """Return a notebook as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_block(output) for output in cell["outputs"]]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
