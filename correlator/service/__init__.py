"""The correlator as a service: pass after pass, with a memory; of several replicas one leads."""
