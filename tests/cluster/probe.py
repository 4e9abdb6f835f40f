"""Ask a program on loopback whether it is well, past any proxy of the surrounding machine."""

import socket
import ssl
import urllib.error
import urllib.request

from tests.cluster.processes import LOOPBACK


def is_well(url: str) -> bool:
    """Return whether *url* answers 2xx; its certificate is not looked at."""
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting)
    )
    try:
        with opener.open(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (OSError, ValueError):
        return False


def accepts(port: int) -> bool:
    """Return whether somebody listens on *port* of loopback."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
