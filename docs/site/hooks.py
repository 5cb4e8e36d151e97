"""Pages of the site that are not in docs/: committed results, project files, and the classes of the learners.

The Markdown files link to each other as files of the checkout. Each link is changed to the place of its file on the
site. A file that is not on the site is named instead.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PROJECT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
"""Project files by path, with their place on the site."""
TABLES = {"published.md": "Published numbers and ours", "measurements.md": "Measurements", "table.md": "Table"}
"""Files of a results folder that its page shows, with their headings."""
RUNS = "runs"
"""Folder of the committed results on the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")
LEARNER_CLASS = re.compile(r"^Class: `([\w.]+):(\w+)`", re.MULTILINE)
"""A line of docs/reference/learners.md that names the class of a learner."""
EXPLORE = """# Explore the results

All committed results on one interactive page. [Open it in full size](page.html).

<iframe class="results-page" src="../page.html" title="All committed results"></iframe>
"""


def on_files(files, config):
    """Add the pages from outside docs/, and the made ones."""
    for source, place in copied_files().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for place, content in made_pages().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Change links between files of the checkout to links between pages of the site."""
    source = source_of(page.file.src_uri)
    return LINK.sub(lambda link: site_link(link, source, page.file.src_uri), markdown)


def copied_files():
    """Return the files that are copied to the site: path in the checkout, place on the site."""
    found = {**PROJECT_PAGES, "results/README.md": f"{RUNS}/index.md", "results/page.html": f"{RUNS}/page.html"}
    for folder in result_folders():
        for figure in sorted(folder.glob("*.svg")):
            found[f"results/{name_of(folder)}/{figure.name}"] = f"{RUNS}/{name_of(folder)}/{figure.name}"
    return found


def made_pages():
    """Return the content of the pages that are composed here, by their place on the site."""
    pages = {f"{RUNS}/explore.md": EXPLORE, "reference/learner-classes.md": learner_classes()}
    return pages | {f"{RUNS}/{name_of(folder)}.md": results_page(folder) for folder in result_folders()}


def learner_classes():
    """Return the page with the docstrings of all built-in learners."""
    listed = (ROOT / "docs" / "reference" / "learners.md").read_text(encoding="utf-8")
    classes = "\n\n".join(f"::: {module}.{name}" for module, name in LEARNER_CLASS.findall(listed))
    about = "Parameters and methods of the built-in learners, from their docstrings."
    return f"# Learner classes\n\n{about}\n\n{classes}\n"


def result_folders():
    results = ROOT / "results"
    return sorted(path.parent for path in (*results.glob("*/README.md"), *results.glob("benchmarks/*/README.md")))


def name_of(folder):
    """Return the path of a results folder below results/, such as field or benchmarks/overhead."""
    return folder.relative_to(ROOT / "results").as_posix()


def results_page(folder):
    """Return the README of a results folder, followed by its figures and tables."""
    parts = [(folder / "README.md").read_text(encoding="utf-8")]
    parts += [f"![{figure.stem} of {folder.name}]({figure.name})" for figure in sorted(folder.glob("*.svg"))]
    for name, heading in TABLES.items():
        if (folder / name).is_file():
            parts += [f"## {heading}", (folder / name).read_text(encoding="utf-8")]
    return "\n\n".join(parts)


def source_of(place):
    """Return the path in the checkout of a page of the site."""
    for source, known in copied_files().items():
        if known == place:
            return source
    run = re.fullmatch(rf"{RUNS}/(.+)\.md", place)
    if run:
        return f"results/{run[1]}/README.md"
    return f"docs/{place}"


def place_of(source):
    """Return the place on the site of a file of the checkout; None if it has none."""
    if source in copied_files():
        return copied_files()[source]
    run = re.fullmatch(r"results/((?:benchmarks/)?[^/]+?)(/README\.md)?/?", source)
    if run and (ROOT / "results" / run[1] / "README.md").is_file():
        return f"{RUNS}/{run[1]}.md"
    if source == "results":
        return f"{RUNS}/index.md"
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return None


def site_link(link, source, place):
    """Return a Markdown link to the page of the linked file, or its text and path if it has no page."""
    picture, words, target, anchor = link.groups()
    if target == "page.html" and place == f"{RUNS}/explore.md":
        return link[0]
    path = os.path.normpath(os.path.join(os.path.dirname(source), target))
    linked = place_of(path)
    if linked is None:
        return f"{words} (`{path}`)"
    relative = os.path.relpath(linked, os.path.dirname(place) or ".")
    return f"{picture}[{words}]({relative}{anchor or ''})"
