from cmi.studio.generate import Truth as Truth
from cmi.studio.generate import generate_set as generate_set
from cmi.studio.make import make_set as make_set
from cmi.studio.mir import make_mir_set as make_mir_set
from cmi.studio.pairs import Material as Material
