"""What was found to differ from Git, and when: the findings' history, beside the records.

Unlike records it is no evidence: the correlator may correct it, and old parts are forgotten.
"""
