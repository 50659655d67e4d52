"""What an account may owe on Aave: the same for one account and for many at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mayavi.agents.aave_lending import _health, _limits
from mayavi.evm.fleet import Words


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 10**16), st.sampled_from([0, 1, 2**63 - 2, 2**63 - 1, 2**63, 2**64, 2**200])),
            st.integers(0, 10_000),
            st.integers(0, 10_000),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_limits_of_many_accounts_are_those_of_each(rows: list[tuple[int, int, int]]) -> None:
    columns = [Words.of(column) for column in zip(*rows, strict=True)]
    limit, most = _limits(*columns)
    each = [_health(value, 0, threshold, ltv, 0) for value, threshold, ltv in rows]
    assert limit.ints() == [row.limit_e8 for row in each]
    assert most.ints() == [row.borrow_limit_e8 for row in each]
