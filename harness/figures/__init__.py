"""Figures of results: lines become drawings, pure (`kinds`, `panels`, `sweep`); matplotlib draws them (`files`)."""
