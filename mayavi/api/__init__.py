"""HTTP service: runs, sweeps, reports and rows for programs and for the dashboard."""
