"""Python interface to the results of a run: tables, figures, pages, rescoring and the best learner."""
