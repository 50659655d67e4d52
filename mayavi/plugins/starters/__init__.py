"""Files that `mayavi new` writes: an agent, an environment or a protocol, each with a test that passes as written."""
