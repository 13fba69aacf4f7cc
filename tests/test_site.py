"""The site: what is written for it, and that it is built whole, without a warning, the same each time."""

import doctest
import html
import importlib
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import polars_microagg as mg
from docs.site import __main__ as site
from docs.site import pages, pictures
from docs.site.accessible import accessible
from docs.site.gallery import BLOCK, gallery_page
from docs.site.links import dead_links
from docs.site.machines import for_machines
from docs.site.sections import Places, anchors, sections, targets
from polars_microagg.charts.style import SHADES
from polars_microagg.cli.main import COMMANDS
from polars_microagg.core import registry
from tests.browser import BROWSER, FLAGS
from tools import package_page

pytestmark = pytest.mark.usefixtures("defaults_of_users")

ROOT = Path(__file__).parents[1]
GENERATOR = ("sphinx", "furo", "myst_parser", "numpydoc")
LACKING = [name for name in GENERATOR if not find_spec(name)]


@pytest.fixture(scope="module")
def made():
    """Every page as the generator gets it, without the charts and the one method that take long."""
    real = pictures.masked_by
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "gallery_page", lambda text: text)
        patch.setattr(pictures, "masked_by", lambda n: real("mdav" if n == "genetic" else n))
        return pages.pages(ROOT)


@pytest.mark.parametrize(
    "name", ["accessible", "gallery", "links", "notebook_page", "pictures", "sections"]
)
def test_examples_in_its_code_run(name):
    assert not doctest.testmod(importlib.import_module(f"docs.site.{name}")).failed


def test_every_page_hangs_in_the_tree_once(made):
    listed = re.findall(
        r"^(?:[^\n<]* <)?([\w/]+)>?$", made[0]["index.md"].split("{toctree}", 1)[1], re.M
    )
    listed += [f"methods/{name}" for name in registry.methods()]
    assert sorted([*listed, "index"]) == sorted(page.removesuffix(".md") for page in made[0])


def test_links_between_pages_lead_somewhere(made):
    texts, files = made
    known = {page: anchors(text) for page, text in texts.items()}
    seen = 0
    for page, text in texts.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for link in re.findall(r"\]\(([^()\s]+)\)", prose):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            there = str((Path("/") / page).parent.joinpath(path).resolve())[1:] if path else page
            seen += 1
            assert there.removeprefix("files/") in files or there in known, f"{page}: {link}"
            assert not anchor or anchor in known[there], f"{page}: {link}"
    assert seen > 100


@pytest.mark.parametrize("name", ["adult", "choose_method", "etl_job", "visits"])
def test_a_notebook_is_a_page_that_offers_it(made, name):
    texts, files = made
    text = texts[f"notebooks/{name}.md"]
    assert f"docs/notebooks/{name}.ipynb" in files
    assert f"\n\n[Download this notebook](../files/docs/notebooks/{name}.ipynb) to run" in text
    assert f"# {text[2:].partition(chr(10))[0]}\n" in for_machines(texts)["llms-full.txt"]


def test_the_site_begins_with_the_readme(made):
    for name in filter(None, sections((ROOT / "README.md").read_text(encoding="utf-8"))):
        assert made[0]["index.md"].count(f"\n## {name}\n") == 1, name
    assert "(files/docs/microaggregation.svg)" in made[0]["index.md"]


@pytest.mark.parametrize("name", registry.methods())
def test_page_of_a_method_has_its_picture_and_figures(made, name):
    text = made[0][f"methods/{name}.md"]
    entry = registry.methods()[name]
    assert text.startswith(f"# {name}\n\n{entry.summary}\n")
    assert entry.cite in text
    assert f".. autofunction:: polars_microagg.{name}\n" in text
    before = pictures.table()
    drawn = text.partition("```{raw} html\n")[2].partition("```")[0]
    assert drawn.count('<circle class="record') == before.height
    assert drawn.count("<polygon") > 5 if entry.unit == "record" else "<polygon" not in drawn
    if name != "genetic":
        after = mg.mask(before, ["x", "y"], pictures.K, method=name, dtype="float")
        assert f"| {mg.loss(before, after):.2f} % |" in text
        assert drawn.count("<rect") == after.n_unique()
    assert f'href="{name}.html"' in made[0]["methods/index.md"]


def test_groups_of_a_picture_are_those_of_the_method():
    before = pictures.table()
    for name in ("mdav", "lowloss", "k_ward"):
        groups = mg.groups(before, ["x", "y"], pictures.K, method=name)["microagg_group"]
        drawn = pictures.masked_by(name)[1]
        assert len(set(zip(groups, drawn, strict=True))) == groups.n_unique() == drawn.n_unique()


def test_references_say_what_the_programs_say(made):
    duckdb = pytest.importorskip("duckdb")
    from polars_microagg.duckdb import register

    commands, macros = made[0]["reference/commands.md"], made[0]["reference/macros.md"]
    for name in COMMANDS:
        assert f"\n## microagg {name}\n" in commands
        assert f"usage: microagg {name}" in commands
    listed = register(duckdb.connect()).sql(
        "SELECT function_name FROM duckdb_functions() WHERE database_name = 'microagg'"
    )
    public = [name for (name,) in listed.fetchall() if not name.startswith("_")]
    assert sorted(re.findall(r"^### (\w+)$", macros, re.M)) == sorted(public)
    assert "microagg.k_ward(..., sort, projected)" in macros
    assert "\n```sql\nFROM microagg.verify('masked', ['age', 'income'], 3);\n```\n" in macros
    assert "Example:" not in macros


def test_every_public_name_is_in_the_reference_once(made):
    whole = "".join(made[0].values())
    for name in mg.__all__:
        calls = re.findall(rf"^\.\. auto\w+:: polars_microagg\.{name}$", whole, re.M)
        assert len(calls) == (name != "__version__"), name


def test_the_copy_for_machines_has_every_page_and_no_picture(made):
    texts = for_machines(made[0])
    assert set(texts) == {"llms.txt", "llms-full.txt"}
    for page in made[0]:
        assert f"(_sources/{page}.txt)" in texts["llms.txt"]
        assert f"<!-- {page} -->" in texts["llms-full.txt"]
    assert "<svg" not in texts["llms-full.txt"]
    assert "{toctree}" not in texts["llms-full.txt"]
    assert "Smallest group size, at least 2." in texts["llms-full.txt"]


def test_a_link_that_leads_nowhere_is_refused():
    places = Places(ROOT, {"README.md": "index.md", "docs/keys.md": "guides/keys.md"})
    text = "[a](docs/keys.md#limits) `x`\n```text\n[b](no.md)\n```\n"
    assert "(guides/keys.md#limits)" in places.rewritten(text, "README.md", "index.md")
    assert "[b](no.md)" in places.rewritten(text, "README.md", "index.md")
    with pytest.raises(FileNotFoundError, match=r"README\.md links to no\.md"):
        places.rewritten("[b](no.md)", "README.md", "index.md")
    assert places.rewritten("[c](LICENSE)", "README.md", "index.md") == "[c](files/LICENSE)"
    assert places.files == {"LICENSE"}


def test_dead_links_of_a_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">x</a><a href="#no">x</a><img src="c.png">'
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"><a href="a.html">x</a><a href="https://x.y/z">x</a>'
    )
    assert dead_links(tmp_path) == ["a.html: #no", "a.html: c.png"]


def test_every_shade_of_a_chart_has_one_for_the_dark_page():
    css = (ROOT / "docs" / "site" / "theme" / "static" / "site.css").read_text(encoding="utf-8")
    for number, shade in enumerate(SHADES):
        assert f'.chart [fill="{shade}"] {{ fill: var(--shade{number}); }}' in css
        assert f"--shade{number}: {shade};" in css
        assert len(re.findall(rf"--shade{number}: #", css)) == 3


def test_what_scrolls_is_reached_by_keys_and_sides_have_names():
    said = '<p class="caption" role="heading">x</p><pre>y</pre><div class="table-wrapper x">'
    assert accessible(f'{said}<aside class="toc-drawer">') == (
        '<p class="caption" role="heading" aria-level="2">x</p><pre tabindex="0">y</pre>'
        '<div tabindex="0" class="table-wrapper x"><aside class="toc-drawer" aria-label="This page">'
    )


def test_a_folder_of_other_things_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit):
        site.main([str(tmp_path)])
    assert "is not empty and holds no site" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").exists()


def test_the_gallery_is_ten_pictures_of_ten_lines():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    data, *blocks = [block["code"] for block in BLOCK.finditer(text)]
    assert len(blocks) == text.count("\n## ") == 10
    assert "chart" not in data
    assert all("chart = " in code and code.count("\n") <= 10 for code in blocks)


@pytest.mark.deep
def test_blocks_of_the_gallery_draw():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    drawn = gallery_page(text)
    assert drawn.count('<svg class="chart"') == 10
    assert not re.search(r"NaN|undefined|graphics-symbol", drawn)
    words = [html.unescape(said) for said in re.findall(r'aria-label="([^"]*)"', drawn)]
    assert len(set(words)) >= 8
    assert all(words)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Build the site into a folder of that name, and return the folder."""
    if LACKING:
        pytest.skip(f"needs pip install '.[docs]': {', '.join(LACKING)}")
    there = tmp_path_factory.mktemp("sites")

    @cache
    def of(name):
        command = [sys.executable, "-m", "docs.site", there / name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert not done.returncode, done.stderr
        assert done.stderr == ""
        assert " 0 dead links" in done.stdout
        return there / name

    return of


@pytest.mark.deep
def test_the_site_is_built_without_a_warning_and_the_same_twice(build):
    built = []
    for folder in (build("one"), build("two")):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        built.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert built[0] == built[1]
    pages_of_html = [text.decode() for path, text in built[0].items() if path.suffix == ".html"]
    for text in pages_of_html:
        assert "<pre>" not in text
        assert not re.search(r'<(?:script|link|img)\b[^>]*(?:src|href)="(?:https?:)?//', text)
    site, readme = "https://docs.example", (ROOT / "README.md").read_text(encoding="utf-8")
    for link in targets(package_page.absolute(readme, site, ROOT)):
        path, _, anchor = link.removeprefix(f"{site}/").partition("#")
        text = built[0][Path(path or "index.html")].decode()
        assert not anchor or f'id="{anchor}"' in text, link
    assert Path("llms.txt") in built[0]
    assert Path("searchindex.js") in built[0]


FRAMES = """<!doctype html><script>
function widths() {
  return [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument.documentElement;
    const scrolls = part => part && (["auto", "scroll"].includes(
      frame.contentWindow.getComputedStyle(part).overflowX) || scrolls(part.parentElement));
    const cut = [...page.querySelectorAll("article table, article pre, article img, article svg.groups")]
      .filter(part => part.getBoundingClientRect().right > page.clientWidth && !scrolls(part));
    return [frame.getAttribute("src"), page.scrollWidth - page.clientWidth, cut.length];
  });
}
addEventListener("load", () => { document.body.textContent = JSON.stringify(widths()); });
</script>"""
"""A page that shows others as narrow as a phone, and says how far each goes beyond it."""


def widths(folder, names, head=""):
    frames = "".join(f'<iframe src="{n}" width="390" height="800"></iframe>' for n in names)
    (folder / "frames.html").write_text(f"{FRAMES}{head}{frames}")
    command = [BROWSER, *FLAGS, "--allow-file-access-from-files", "--timeout=60000"]
    command += [f"--user-data-dir={folder / 'profile'}", (folder / "frames.html").as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    finally:
        shutil.rmtree(folder / "profile", ignore_errors=True)
        (folder / "frames.html").unlink()
    return json.loads(html.unescape(re.search(r"\[\[.*\]\]", done.stdout)[0]))


@pytest.mark.deep
@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
def test_no_page_is_wider_than_a_phone(build):
    folder = build("one")
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]
    names = [name for name in names if not name.startswith(("files/", "methods/", "_static/"))]
    assert len(names) > 30
    found = widths(folder, [*names, "methods/index.html", "methods/mdav.html"])
    assert [each for each in found if each[1] or each[2]] == []
    assert len(found) == len(names) + 2


@pytest.mark.deep
@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
def test_a_page_that_is_wider_would_be_seen(tmp_path):
    wide = '<article><table style="width: 900px"><tr><td>x</td></tr></table></article>'
    (tmp_path / "a.html").write_text(f"<!doctype html>{wide}")
    (tmp_path / "b.html").write_text(f'<!doctype html><div style="overflow: auto">{wide}</div>')
    (_, beyond, cut), inside = widths(tmp_path, ["a.html", "b.html"])
    assert beyond > 400
    assert cut == 1
    assert inside == ["b.html", 0, 0]
