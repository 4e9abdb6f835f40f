"""What kind of difference a finding is, whose, and what to do about it.

`RULES` is the whole table; the first rule that fits a finding decides. To add one: a file with its
`RULE`, and its line here.
"""
