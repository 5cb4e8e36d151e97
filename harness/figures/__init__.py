"""Figures of results: `panels` turns records into what is to be drawn, pure; `draw` draws it with matplotlib."""
