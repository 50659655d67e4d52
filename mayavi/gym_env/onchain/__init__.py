"""On-chain parts that environments share: price feeds, pool trades and borrower books."""
