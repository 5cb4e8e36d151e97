"""Turn records into tables, figures and pages. Functions are pure, except for those that save a file."""
