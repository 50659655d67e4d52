"""Random streams and elementary functions that give the same bits on every machine."""
