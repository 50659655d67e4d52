from .fork import Fork as Fork
from .fork import register_replica_builder as register_replica_builder
