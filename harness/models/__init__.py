"""Models: train a learner on all rows of a dataset, save and load it, predict for texts, rows and files, serve it."""
