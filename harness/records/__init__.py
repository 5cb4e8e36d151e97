"""Records of trials and the results folder."""
