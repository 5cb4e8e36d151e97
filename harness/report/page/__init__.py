"""The results page: one HTML file that needs no server and no network.

`build` turns lines into the content of the page. `document` defines that content as frozen dataclasses, and writes it
into an HTML file together with scripts and style.
"""

from harness.report.page.build import PartRequest, make_part
from harness.report.page.document import Page, Part

__all__ = ["Page", "Part", "PartRequest", "make_part"]
