"""Agents: who acts in a simulation, and how each decides. They see a `World`, and return what they want to do."""
