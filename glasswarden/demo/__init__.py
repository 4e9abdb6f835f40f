"""The demo: the real webhook answers the recorded admission reviews of a real API server.

The reviews were recorded while people typed the commands that are shown (`make recording` renews
them). The responses are not recorded: they are decided, and stored in a ledger, each time.
"""
