"""Aave V3 and SparkLend."""
