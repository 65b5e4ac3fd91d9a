from cmi.serve.app import create_app as create_app
from cmi.serve.guard import ServeLimits as ServeLimits
from cmi.serve.score_queue import ScoreQueue as ScoreQueue
from cmi.serve.serve import serve as serve
