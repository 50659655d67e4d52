"""The borrower environments, written once for Aave V3 and Compound V3."""
