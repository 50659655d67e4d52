"""Rows of environments in a GPU's memory: `DeviceRows`."""
