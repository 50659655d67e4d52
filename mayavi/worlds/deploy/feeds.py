"""Deploy the price feeds of a replica at the addresses of Chainlink's proxies and Aave's adapters."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.tables.chain import Feed


def feed_label(name: str, feed: Feed) -> str:
    """Return the label: `Chainlink.ETH/USD`, or `Aave.wstETH/USD` for an adapter written by Aave."""
    return f"{feed.operator}.{name}"


def deploy_feeds(deployment: Deployment, feeds: Mapping[str, Feed], *, timestamp: int) -> None:
    """Deploy every feed, owned by the deployer. Feeds without their own date answer as of `timestamp`."""
    for name, feed in feeds.items():
        if feed.base is None:
            deployment.place(
                feed_label(name, feed),
                "PriceFeed",
                feed.description,
                feed.decimals,
                feed.answer,
                feed.round_id,
                feed.updated_at or timestamp,
                deployment.deployer,
                at=feed.address,
            )
    for name, feed in feeds.items():
        if feed.base is not None:
            _deploy_adapter(
                deployment, feed_label(name, feed), feed, feed_label(feed.base, feeds[feed.base]), timestamp
            )


def _deploy_adapter(deployment: Deployment, label: str, feed: Feed, base_label: str, timestamp: int) -> None:
    """Deploy a feed that follows another. The cap on a ratio grows from its value at `timestamp`."""
    base, owner = deployment[base_label], deployment.deployer
    if feed.maturity:
        arguments: tuple[object, ...] = (feed.description, base, feed.maturity, feed.discount_e18, owner)
        deployment.place(label, "DiscountFeed", *arguments, at=feed.address)
    elif feed.growth_bps:
        arguments = (feed.description, base, feed.ratio_e18, feed.ratio_e18, timestamp, feed.growth_bps, owner)
        deployment.place(label, "CappedRatioFeed", *arguments, at=feed.address)
    else:
        deployment.place(label, "RatioFeed", feed.description, base, feed.ratio_e18, owner, at=feed.address)
