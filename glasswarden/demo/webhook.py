"""The webhook of the demo: the real one, except that its clock shows the time of the story.

It is a separate module, so that the real program has no switch that could set its clock.
"""

import sys
from pathlib import Path

from certs.files import Folder
from glasswarden.demo.stage import Layout, StoryClock
from webhook.server.gunicorn import AddressUnusable, serve
from webhook.settings import Settings


def main(folder: str, bind: str, certificates: str) -> None:
    """Serve reviews at *bind* with what is in *folder*, until stopped."""
    layout, files = Layout(Path(folder)), Folder(Path(certificates))
    settings = Settings(
        bind=bind,
        certificate=files.certificate,
        key=files.key,
        caller_token=files.caller_token.read_text().strip(),
        ledger=layout.ledger,
        keys=layout.keys,
        spool=layout.spool,
        policy=layout.policy,
        kubeconfig=layout.kubeconfig,
        events=False,
    )
    try:
        serve(settings, StoryClock(layout.clock))
    except AddressUnusable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
