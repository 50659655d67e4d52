"""Single facts of the chains, each with where it is from: what no package publishes in a form to read."""
