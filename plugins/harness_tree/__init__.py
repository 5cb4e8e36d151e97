"""Tree learners: classes reached by a path of decisions; and their flat rival, one against all."""
