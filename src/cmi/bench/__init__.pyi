from cmi.bench.ask import Answer as Answer
from cmi.bench.ask import Listener as Listener
from cmi.bench.ask import Question as Question
from cmi.bench.scoring.many_files import score as score
from cmi.bench.scoring.one_file import BenchCell as BenchCell
from cmi.bench.scoring.tables import score_tables as score_tables
