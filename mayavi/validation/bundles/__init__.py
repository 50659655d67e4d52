"""Small bundles of each kind, made and verified by the gate `artifacts`."""
