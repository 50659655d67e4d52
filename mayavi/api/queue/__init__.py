"""Queue of jobs and the worker processes that execute them."""
