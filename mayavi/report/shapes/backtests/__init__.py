"""Pages of portfolio backtests."""
