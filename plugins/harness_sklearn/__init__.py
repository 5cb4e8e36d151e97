"""Classifiers of scikit-learn, with parameters for many classes and sparse rows."""
