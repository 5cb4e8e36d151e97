"""Figures: lines become drawings as data (`kinds`, `panels`), which matplotlib draws (`draw`)."""
