"""One machine for each class against the rest."""
