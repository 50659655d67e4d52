"""The market environment: borrowers against liquidators."""
