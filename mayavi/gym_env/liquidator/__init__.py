"""The liquidator environment."""
