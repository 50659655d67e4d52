"""Value the borrowers of a scenario on many price paths, while nobody acts."""
