"""How hypothesis searches here: as long as it takes, for a loaded machine is not a bug."""

from hypothesis import settings

settings.register_profile("kube", deadline=None)
settings.load_profile("kube")
