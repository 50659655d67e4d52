from .market.assets import growth as growth
from .market.assets import trade_gas_usd as trade_gas_usd
from .market.data import RWAMarket as RWAMarket
from .market.history import read_rwa as read_rwa
from .market.history import write_rwa as write_rwa
from .market.model import RWAModel as RWAModel
from .optimizer import PPOYieldOptimizer as PPOYieldOptimizer
