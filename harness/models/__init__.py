"""A fitted model as a folder, and how sure it is of what it says. Knows no learner and no data set; trains none."""
