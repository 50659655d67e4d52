"""Typed client of a Mayavi service: submit runs, wait for them, read rows and reports.

```python
from mayavi.client import Client

client = Client("http://127.0.0.1:8420", key)
run = client.run("depeg_cascade", seed=7)
run.digest, client.rows(run.run_id, "actions")
```
"""

from mayavi.client.client import Client as Client
