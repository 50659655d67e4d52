"""Adam without torch's compiler: the arithmetic and the gradient mode are those of torch."""

from __future__ import annotations

import pytest

from mayavi.rl.training.adam import spare_compiler

torch = pytest.importorskip("torch", reason="`pip install 'mayavi-sim[rl]'` installs torch")


def test_a_step_has_torchs_arithmetic_and_leaves_the_gradient_mode() -> None:
    spare_compiler()
    spare_compiler()
    weights = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([weights], lr=0.1)
    modes = []

    def loss() -> float:
        modes.append(torch.is_grad_enabled())
        optimizer.zero_grad()
        found = (weights**2).sum()
        found.backward()
        return float(found.detach())

    for _ in range(3):
        optimizer.step(loss)
    assert modes == [True] * 3
    assert torch.is_grad_enabled()
    assert weights.grad_fn is None
    with torch.no_grad():
        optimizer.step()
        assert not torch.is_grad_enabled()

    expected, mean, square = torch.tensor([1.0, -2.0]), torch.zeros(2), torch.zeros(2)
    gradient = torch.zeros(2)
    for step in range(1, 5):
        gradient = 2 * expected if step < 4 else gradient
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        expected = expected - 0.1 * mean / (1 - 0.9**step) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
    assert torch.allclose(weights.detach(), expected, atol=1e-6)
    kept = optimizer.state_dict()
    optimizer.load_state_dict(kept)
    assert optimizer.state_dict()["state"][0]["step"] == 4
