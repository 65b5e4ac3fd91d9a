"""What can be heard to be wrong with a recording, and when: sentences bound to seconds, by measurement alone.

observe(path)    observations of one recording, in time
KINDS            what is looked for, and how (docs/report.md says how often each errs)
"""

from cmi.critic.observe import KINDS, Observation, observe

__all__ = ["KINDS", "Observation", "observe"]
