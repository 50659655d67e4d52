"""Whether tests find a GPU."""

from __future__ import annotations

import pytest

from mayavi import _kernel


def has_device() -> bool:
    """Whether a CUDA device is there."""
    try:
        return bool(_kernel.cuda_devices()[1])
    except _kernel.DeviceError:
        return False


needs_device = pytest.mark.skipif(not has_device(), reason="there is no CUDA device here")
without_device = pytest.mark.skipif(has_device(), reason="there is a CUDA device here")
