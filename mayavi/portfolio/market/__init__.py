"""The market of USDY, mETH and MI4: simulated or historical, hour by hour. NumPy only."""
