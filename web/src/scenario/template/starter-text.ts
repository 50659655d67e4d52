/** What somebody sees who writes a scenario without a template. */
export const STARTER = `# A scenario of your own: prices, agents, and how long it lasts.
name: my_scenario
title: one borrower while the price of WETH moves
chain: ethereum
steps: 24
step_time: 1h
prices:
  WETH: {process: gbm, volatility: 60%}
agents:
  borrower:
    kind: borrower
    protocol: aave_v3
    collateral: 1 WETH
    debt: 1_700 USDC
`;
