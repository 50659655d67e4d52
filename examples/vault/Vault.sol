// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Shares} from "./Shares.sol";

interface IToken {
    function balanceOf(address holder) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address owner, address to, uint256 amount) external returns (bool);
}

/// Savings in one token. Whatever is sent to it belongs to all who hold shares.
contract Vault {
    IToken public immutable asset;
    uint256 public immutable exitFeeBps;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;

    event Deposit(address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(address indexed owner, uint256 assets, uint256 shares);

    error NotEnoughShares(uint256 held, uint256 wanted);

    constructor(IToken asset_, uint256 exitFeeBps_) {
        asset = asset_;
        exitFeeBps = exitFeeBps_;
    }

    function totalAssets() public view returns (uint256) {
        return asset.balanceOf(address(this));
    }

    /// What one whole share is worth, with 18 decimals.
    function sharePrice() external view returns (uint256) {
        return Shares.toAssets(1e18, totalSupply, totalAssets());
    }

    function deposit(uint256 assets) external returns (uint256 shares) {
        shares = Shares.fromAssets(assets, totalSupply, totalAssets());
        totalSupply += shares;
        balanceOf[msg.sender] += shares;
        require(asset.transferFrom(msg.sender, address(this), assets), "transfer failed");
        emit Deposit(msg.sender, assets, shares);
    }

    function withdraw(uint256 shares) external returns (uint256 assets) {
        uint256 held = balanceOf[msg.sender];
        if (held < shares) revert NotEnoughShares(held, shares);
        assets = Shares.toAssets(shares, totalSupply, totalAssets());
        assets -= (assets * exitFeeBps) / 10_000;
        balanceOf[msg.sender] = held - shares;
        totalSupply -= shares;
        require(asset.transfer(msg.sender, assets), "transfer failed");
        emit Withdraw(msg.sender, assets, shares);
    }
}
