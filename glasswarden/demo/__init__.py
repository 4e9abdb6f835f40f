"""A story told by the product itself: the real webhook answers reviews of a real API server.

The reviews were recorded while people typed the commands that are shown (`make recording` renews
them). What they are answered is not: that is decided and recorded anew each time.
"""
