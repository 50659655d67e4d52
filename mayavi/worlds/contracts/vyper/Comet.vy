# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize codesize
# @license Apache-2.0
"""
@title Compound V3 market of a replica
@notice Stands where the proxy of a Comet market stands and answers what its implementation and its extension answer:
        one base asset to lend and to borrow, up to fifteen assets as collateral. Written from the public documentation
        and from what the deployed contract can be seen to do; amounts, events and errors are the same, unit for unit.
        Gas is not promised, nor what follows from it (`approxSpend` of `liquidatorPoints`). As on mainnet a token must
        return true. There is no proxy and no rewards contract; the tracking indexes rewards follow from are kept.
"""
import comet_config as config
import comet_extension as extension
import comet_ledger as ledger
import comet_math as math
import comet_pause as pausing
import comet_valuation as valuation

initializes: config
initializes: extension
initializes: ledger[config := config]
initializes: pausing[config := config, ledger := ledger]
initializes: valuation[config := config, ledger := ledger]

interface Token:
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(sender: address, receiver: address, amount: uint256) -> bool: nonpayable
    def approve(spender: address, amount: uint256) -> bool: nonpayable

event Supply:
    sender: indexed(address)
    dst: indexed(address)
    amount: uint256

event Transfer:
    sender: indexed(address)
    to: indexed(address)
    amount: uint256

event Withdraw:
    src: indexed(address)
    to: indexed(address)
    amount: uint256

event SupplyCollateral:
    sender: indexed(address)
    dst: indexed(address)
    asset: indexed(address)
    amount: uint256

event TransferCollateral:
    sender: indexed(address)
    to: indexed(address)
    asset: indexed(address)
    amount: uint256

event WithdrawCollateral:
    src: indexed(address)
    to: indexed(address)
    asset: indexed(address)
    amount: uint256

event AbsorbDebt:
    absorber: indexed(address)
    borrower: indexed(address)
    basePaidOut: uint256
    usdValue: uint256

event AbsorbCollateral:
    absorber: indexed(address)
    borrower: indexed(address)
    asset: indexed(address)
    collateralAbsorbed: uint256
    usdValue: uint256

event BuyCollateral:
    buyer: indexed(address)
    asset: indexed(address)
    baseAmount: uint256
    collateralAmount: uint256

event WithdrawReserves:
    to: indexed(address)
    amount: uint256

struct LiquidatorPoints:
    numAbsorbs: uint32
    numAbsorbed: uint64
    approxSpend: uint128
    _reserved: uint32

exports: (
    config.__interface__,
    extension.__interface__,
    ledger.__interface__,
    pausing.__interface__,
    valuation.__interface__,
)

FACTOR_SCALE: constant(uint256) = 10**18
ALL: constant(uint256) = max_value(uint256)

# Absorptions at once; on mainnet gas is the limit.
MAX_ACCOUNTS: constant(uint256) = 256

# Absorptions in the lowest 32 bits, accounts absorbed and wei spent above them.
ABSORBED: constant(uint256) = 32
SPENT: constant(uint256) = 96
_points: HashMap[address, uint256]


@deploy
def __init__(configuration: config.Configuration, name: String[32], symbol: String[32]):
    config.__init__(configuration)
    extension.__init__(name, symbol)
    ledger.__init__()


@external
def initializeStorage():
    # The constructor did it.
    raw_revert(method_id("AlreadyInitialized()"))


# -- supply ------------------------------------------------------------------------------------------------------------


@external
def supply(asset: address, amount: uint256):
    self._supply(msg.sender, msg.sender, asset, amount)


@external
def supplyTo(dst: address, asset: address, amount: uint256):
    self._supply(msg.sender, dst, asset, amount)


@external
def supplyFrom(from_: address, dst: address, asset: address, amount: uint256):
    self._supply(from_, dst, asset, amount)


@internal
def _supply(payer: address, dst: address, asset: address, amount: uint256):
    pausing._require_open(pausing.SUPPLY)
    self._require_permission(payer)
    if asset == config.baseToken:
        paid: uint256 = amount
        if amount == ALL:
            paid = ledger._borrow_balance_now(dst)
        self._take(asset, payer, paid)
        ledger._accrue()
        supplied: uint256 = ledger._move(dst, math._to_signed(paid), True)[1]
        log Supply(sender=payer, dst=dst, amount=paid)
        self._log_minted(dst, supplied)
    else:
        math._to_128(amount)
        self._take(asset, payer, amount)
        offset: uint256 = config._offset_of(asset)
        total: uint256 = ledger._collateral_totals[asset] + amount
        if total > convert(config.assets[offset].supplyCap, uint256):
            raw_revert(method_id("SupplyCapExceeded()"))
        ledger._collateral_totals[asset] = total
        ledger._set_collateral(dst, offset, ledger._collateral[dst][asset] + amount)
        log SupplyCollateral(sender=payer, dst=dst, asset=asset, amount=amount)


# -- transfer ----------------------------------------------------------------------------------------------------------


@external
def transfer(dst: address, amount: uint256) -> bool:
    self._transfer(msg.sender, dst, config.baseToken, amount)
    return True


@external
def transferFrom(src: address, dst: address, amount: uint256) -> bool:
    self._transfer(src, dst, config.baseToken, amount)
    return True


@external
def transferAsset(dst: address, asset: address, amount: uint256):
    self._transfer(msg.sender, dst, asset, amount)


@external
def transferAssetFrom(src: address, dst: address, asset: address, amount: uint256):
    self._transfer(src, dst, asset, amount)


@internal
def _transfer(src: address, dst: address, asset: address, amount: uint256):
    pausing._require_open(pausing.TRANSFER)
    self._require_permission(src)
    if src == dst:
        raw_revert(method_id("NoSelfTransfer()"))
    if asset == config.baseToken:
        moved: uint256 = amount
        if amount == ALL:
            moved = ledger._balance_now(src)
        ledger._accrue()
        balance: int256 = 0
        withdrawn: uint256 = 0
        balance, withdrawn = ledger._move(src, -math._to_signed(moved), False)
        supplied: uint256 = ledger._move(dst, convert(moved, int256), True)[1]
        self._require_sound_debt(src, balance)
        self._log_burnt(src, withdrawn)
        self._log_minted(dst, supplied)
    else:
        math._to_128(amount)
        left: uint256 = math._minus(ledger._collateral[src][asset], amount)
        offset: uint256 = config._offset_of(asset)
        ledger._set_collateral(src, offset, left)
        ledger._set_collateral(dst, offset, ledger._collateral[dst][asset] + amount)
        self._require_collateralized(src)
        log TransferCollateral(sender=src, to=dst, asset=asset, amount=amount)


# -- withdraw ----------------------------------------------------------------------------------------------------------


@external
def withdraw(asset: address, amount: uint256):
    self._withdraw(msg.sender, msg.sender, asset, amount)


@external
def withdrawTo(to: address, asset: address, amount: uint256):
    self._withdraw(msg.sender, to, asset, amount)


@external
def withdrawFrom(src: address, to: address, asset: address, amount: uint256):
    self._withdraw(src, to, asset, amount)


@internal
def _withdraw(src: address, to: address, asset: address, amount: uint256):
    pausing._require_open(pausing.WITHDRAW)
    self._require_permission(src)
    if asset == config.baseToken:
        paid: uint256 = amount
        if amount == ALL:
            paid = ledger._balance_now(src)
        ledger._accrue()
        balance: int256 = 0
        withdrawn: uint256 = 0
        balance, withdrawn = ledger._move(src, -math._to_signed(paid), False)
        self._require_sound_debt(src, balance)
        self._give(asset, to, paid)
        log Withdraw(src=src, to=to, amount=paid)
        self._log_burnt(src, withdrawn)
    else:
        math._to_128(amount)
        left: uint256 = math._minus(ledger._collateral[src][asset], amount)
        ledger._collateral_totals[asset] -= amount
        ledger._set_collateral(src, config._offset_of(asset), left)
        self._require_collateralized(src)
        self._give(asset, to, amount)
        log WithdrawCollateral(src=src, to=to, asset=asset, amount=amount)


# -- liquidation -------------------------------------------------------------------------------------------------------


@external
def absorb(absorber: address, accounts: DynArray[address, MAX_ACCOUNTS]):
    """
    @notice Take over the debt and all collateral of accounts that are liquidatable. What the collateral is worth above
            the debt, less the penalty, becomes the account's base balance.
    """
    pausing._require_open(pausing.ABSORB)
    gas_before: uint256 = msg.gas
    ledger._accrue()
    for account: address in accounts:
        self._absorb(absorber, account)
    spent: uint256 = (gas_before - msg.gas) * block.basefee
    self._points[absorber] += 1 + (len(accounts) << ABSORBED) + (spent << SPENT)


@external
@view
def liquidatorPoints(absorber: address) -> LiquidatorPoints:
    points: uint256 = self._points[absorber]
    return LiquidatorPoints(
        numAbsorbs=convert(points & (2**32 - 1), uint32),
        numAbsorbed=convert((points >> ABSORBED) & (2**64 - 1), uint64),
        approxSpend=convert((points >> SPENT) & (2**128 - 1), uint128),
        _reserved=0,
    )


@internal
def _absorb(absorber: address, account: address):
    if not valuation._is_liquidatable(account):
        raw_revert(method_id("NotLiquidatable()"))
    debt: uint256 = convert(-ledger._balance(account, ledger._indexes), uint256)
    base_price: uint256 = valuation._price(config.baseTokenPriceFeed)
    credit: uint256 = 0
    for i: uint256 in range(len(config.assets), bound=15):
        if not ledger._holds(account, i):
            continue
        asset: address = config.assets[i].asset
        seized: uint256 = ledger._collateral[account][asset]
        ledger._set_collateral(account, i, 0)
        ledger._collateral_totals[asset] -= seized
        worth: uint256 = valuation._worth(i, seized)
        credit += worth * convert(config.assets[i].liquidationFactor, uint256) // FACTOR_SCALE
        log AbsorbCollateral(
            absorber=absorber, borrower=account, asset=asset, collateralAbsorbed=seized, usdValue=worth
        )
    # Bad debt is paid in full by the reserves.
    paid: uint256 = max(credit * config.baseScale // base_price, debt)
    supplied: uint256 = ledger._move(account, convert(paid, int256), True)[1]
    log AbsorbDebt(
        absorber=absorber,
        borrower=account,
        basePaidOut=paid,
        usdValue=paid * base_price // config.baseScale,
    )
    self._log_minted(account, supplied)


@external
def buyCollateral(asset: address, minAmount: uint256, baseAmount: uint256, recipient: address):
    """
    @notice Buy collateral the market has absorbed, while its reserves of the base asset are below their target.
    """
    pausing._require_open(pausing.BUY)
    if valuation._reserves() >= convert(config.targetReserves, int256):
        raw_revert(method_id("NotForSale()"))
    self._take(config.baseToken, msg.sender, baseAmount)
    bought: uint256 = valuation._quote(asset, baseAmount)
    if bought < minAmount:
        raw_revert(method_id("TooMuchSlippage()"))
    if bought > valuation._collateral_reserves(asset):
        raw_revert(method_id("InsufficientReserves()"))
    self._give(asset, recipient, bought)
    log BuyCollateral(buyer=msg.sender, asset=asset, baseAmount=baseAmount, collateralAmount=bought)


# -- solvency and reserves ---------------------------------------------------------------------------------------------


@internal
@view
def _require_collateralized(account: address):
    if not valuation._is_collateralized(account):
        raw_revert(method_id("NotCollateralized()"))


@internal
@view
def _require_sound_debt(account: address, balance: int256):
    if balance < 0:
        if convert(-balance, uint256) < config.baseBorrowMin:
            raw_revert(method_id("BorrowTooSmall()"))
        self._require_collateralized(account)


@external
def withdrawReserves(to: address, amount: uint256):
    self._require(msg.sender == config.governor)
    reserves: int256 = valuation._reserves()
    if reserves < 0 or amount > convert(reserves, uint256):
        raw_revert(method_id("InsufficientReserves()"))
    self._give(config.baseToken, to, amount)
    log WithdrawReserves(to=to, amount=amount)


# -- permissions -------------------------------------------------------------------------------------------------------


@internal
@view
def _require_permission(owner: address):
    self._require(extension._may_act(owner, msg.sender))


@internal
@pure
def _require(permitted: bool):
    if not permitted:
        raw_revert(method_id("Unauthorized()"))


@external
def approveThis(manager: address, asset: address, amount: uint256):
    self._require(msg.sender == config.governor)
    extcall Token(asset).approve(manager, amount)


@external
def accrueAccount(account: address):
    ledger._accrue()
    principal: int256 = ledger._principal(account)
    ledger._set_principal(account, principal, principal)


# -- tokens and their events -------------------------------------------------------------------------------------------


@internal
def _take(asset: address, payer: address, amount: uint256):
    if not extcall Token(asset).transferFrom(payer, self, amount):
        raw_revert(method_id("TransferInFailed()"))


@internal
def _give(asset: address, to: address, amount: uint256):
    if not extcall Token(asset).transfer(to, amount):
        raw_revert(method_id("TransferOutFailed()"))


@internal
def _log_minted(account: address, amount: uint256):
    if amount != 0:
        log Transfer(sender=empty(address), to=account, amount=amount)


@internal
def _log_burnt(account: address, amount: uint256):
    if amount != 0:
        log Transfer(sender=account, to=empty(address), amount=amount)
