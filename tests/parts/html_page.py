"""The texts of an HTML or Markdown page by element; every tag must be closed."""

from html.parser import HTMLParser

from markdown_it import MarkdownIt


class Page(HTMLParser):
    """The texts of a page's elements by tag; tags must be closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.texts, self.open, self.attributes = {}, [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in ("meta", "br"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data


def markdown_page(text):
    return Page(MarkdownIt("commonmark").enable("table").render(text))
