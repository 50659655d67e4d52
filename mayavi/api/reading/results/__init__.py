"""Pages, reports and bundles, built in other processes."""
