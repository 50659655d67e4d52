"""The vesting environment: sell vested WETH into one pool before a deadline."""
