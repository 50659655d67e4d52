// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Shares of a pot, rounded down.
library Shares {
    function fromAssets(uint256 assets, uint256 supply, uint256 total) external pure returns (uint256) {
        return supply == 0 ? assets : (assets * supply) / total;
    }

    function toAssets(uint256 shares, uint256 supply, uint256 total) external pure returns (uint256) {
        return supply == 0 ? shares : (shares * total) / supply;
    }
}
