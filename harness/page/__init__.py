"""The page: results to look at and share, in one HTML file that needs no server and no network. Pure.

Lines (the grouping of all tables and figures) become the page's content, plain frozen data; this, a script and a
style become one file.
"""

from harness.page.content import Page, Part
from harness.page.gathering import PartRequest, make_part

__all__ = ["Page", "Part", "PartRequest", "make_part"]
