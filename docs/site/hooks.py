"""What the docs site has beside docs/: the committed results with tables and figures, and the project's own pages.

Pages are written for readers of the checkout, whose links lead from file to file. Here each link is turned to where its
file is on the site; a file that the site has not is named instead.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
"""Of the project: where they are in the checkout, and on the site."""
RUNS = "runs"
"""Where committed results are on the site: `results` is the page about results."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")


def on_files(files, config):
    """Add what is outside of docs/."""
    for source, place in places().items():
        if not place.startswith("docs/"):
            files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for folder in result_folders():
        page = File.generated(config, f"{RUNS}/{folder.name}.md", content=page_of(folder))
        files.append(page)
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links from places in the checkout to places on the site."""
    source = source_of(page.file.src_uri)
    return LINK.sub(lambda link: turned(link, source, page.file.src_uri), markdown)


def places():
    """Files that are taken as they are: their places in the checkout, and on the site."""
    found = {**PAGES, "results/README.md": f"{RUNS}/index.md", "results/index.html": f"{RUNS}/page.html"}
    for folder in result_folders():
        for figure in sorted(folder.glob("*.svg")):
            found[f"results/{folder.name}/{figure.name}"] = f"{RUNS}/{folder.name}/{figure.name}"
    return found


def result_folders():
    return sorted(path.parent for path in (ROOT / "results").glob("*/README.md"))


def page_of(folder):
    """What was run and what came of it, then the figures and the tables that its records make."""
    parts = [(folder / "README.md").read_text(encoding="utf-8")]
    parts += [f"![{figure.stem} of {folder.name}]({figure.name})" for figure in sorted(folder.glob("*.svg"))]
    for name, heading in (("published.md", "Published, and ours"), ("table.md", "The table")):
        if (folder / name).is_file():
            parts += [f"## {heading}", (folder / name).read_text(encoding="utf-8")]
    return "\n\n".join(parts)


def source_of(place):
    """Where a page of the site is in the checkout."""
    for source, known in places().items():
        if known == place:
            return source
    run = re.fullmatch(rf"{RUNS}/(.+)\.md", place)
    if run:
        return f"results/{run[1]}/README.md"
    return f"docs/{place}"


def place_of(source):
    """Where a file of the checkout is on the site; None where it is not there."""
    if source in places():
        return places()[source]
    run = re.fullmatch(r"results/([^/]+)(/README\.md)?/?", source)
    if run and (ROOT / "results" / run[1] / "README.md").is_file():
        return f"{RUNS}/{run[1]}.md"
    if source == "results":
        return f"{RUNS}/index.md"
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return None


def turned(link, source, place):
    picture, words, target, anchor = link.groups()
    meant = os.path.normpath(os.path.join(os.path.dirname(source), target))
    there = place_of(meant)
    if there is None:
        return f"{words} (`{meant}`)"
    relative = os.path.relpath(there, os.path.dirname(place) or ".")
    return f"{picture}[{words}]({relative}{anchor or ''})"
