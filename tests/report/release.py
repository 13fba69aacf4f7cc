"""A release to report on, whose values are so odd that none can be on a page by chance."""

import functools
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl

import polars_microagg as mg

COLUMNS = ["income", "wealth", "debt"]
VOID = {"meta", "link", "img", "br", "hr", "input", "base", "embed", "source"}
WORDS = """
    html head meta title style body header main footer section div p span h1 h2 h3 a b strong code
    ul li dl dt dd figure figcaption details summary table caption thead tbody tr th td
    svg g path rect line text tspan defs clippath
"""
ELEMENTS = set(WORDS.split())
"""Elements that a page may have."""


@functools.cache
def tables(n=3_000, k=5):
    """A table of large random numbers, and what is released of it."""
    rng = np.random.default_rng(8)
    base = rng.integers(10_000_000, 99_999_999, n)
    original = pl.DataFrame(
        {
            "region": rng.choice(["N", "S"], n),
            "income": base,
            "wealth": base * 3 + rng.integers(0, 90_000_000, n),
            "debt": rng.integers(100_000_000, 999_999_999, n) / 1000,
            "ward": rng.choice(["A", "B"], n),
        }
    )
    return original, mg.mdav(original, COLUMNS, k=k, strata="region")


@functools.cache
def compared():
    original, _ = tables()
    return mg.compare(original, COLUMNS, methods=["mdav", "fixed_size"], ks=[3, 5], strata="region")


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.text, self.styles, self.crossed = [], [], "", "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        if "style" in self.open:
            self.styles += data
        else:
            self.text += data + "\n"

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


def outside(page):
    """Everything of a page that could run or fetch something."""
    read = Page(page)
    found = [tag for tag, _, _ in read.elements if tag not in ELEMENTS]
    for tag, attributes, _ in read.elements:
        for name, value in attributes.items():
            if name.startswith("on") or name in (
                "src",
                "srcset",
                "action",
                "data",
                "style",
                "ping",
                "background",
            ):
                found.append(f"{tag} {name}")
            if name in ("href", "xlink:href") and not value.startswith("#"):
                found.append(f"{tag} {name}={value}")
            if name != "aria-label" and "url(" in (value or "") and "url(#" not in value:
                found.append(f"{tag} {name}={value}")
    found += re.findall(r"url\(|@import|expression\(", read.styles)
    return found + re.findall(r"(?:https?:)?//[\w.]+", read.styles)


def leaks(page, table, columns):
    """Original values that are on a page, however they may be written."""
    read = Page(page)
    words = read.text + " ".join(
        str(v) for _, attributes, _ in read.elements for v in attributes.values()
    )
    numbers = {word.replace(",", "").rstrip(".") for word in re.findall(r"\d[\d,]*\.?\d*", words)}
    values = {
        form
        for name in columns
        for v in table[name]
        for form in (str(v), f"{v:.0f}", f"{v:.1f}", f"{v:.2f}")
    }
    return values & numbers
