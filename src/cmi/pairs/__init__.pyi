from cmi.pairs.checks import Checker as Checker
from cmi.pairs.leaks import Leak as Leak
from cmi.pairs.leaks import find_leaks as find_leaks
from cmi.pairs.make import PairSettings as PairSettings
from cmi.pairs.make import make_pairs as make_pairs
from cmi.pairs.make import write_pairs as write_pairs
from cmi.pairs.pool import read_pool as read_pool
from cmi.pairs.report import summarise as summarise
