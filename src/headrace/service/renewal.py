"""Notices that the certificates of a service have changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.service.entrance import Entrance
from headrace.service.listening import check_pems
from headrace.service.pems import PemFiles

_log = logging.getLogger("headrace.service")
_LOOK_S = 2.0


class Renewal:
    """Looks every two seconds, in a thread of its own. What cannot be used is logged, and leaves all as it was.

    Raises TLSError: the files cannot be read at first.
    """

    def __init__(self, files: PemFiles) -> None:
        self._files = files
        self._taken = files.stamps()
        self.pems = files.read()
        self._entrances: Sequence[Entrance] = ()
        self._wake = threading.Event()
        self._asked = self._ended = False
        self._thread = threading.Thread(target=self._run, name="headrace-renewal", daemon=True)

    def start(self, entrances: Sequence[Entrance]) -> None:
        """Have them show what the files hold, from now on."""
        self._entrances = entrances
        if self.pems is not None:
            self._thread.start()

    def ask(self) -> None:
        """Look at once."""
        self._asked = True
        self._wake.set()

    def close(self) -> None:
        """Nothing is renewed afterwards."""
        self._ended = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        seen = self._taken
        while True:
            self._wake.wait(_LOOK_S)
            self._wake.clear()
            if self._ended:
                return
            asked, self._asked = self._asked, False
            found = self._files.stamps()
            # The same twice: whoever replaces one file after the other is done.
            if asked or (found != self._taken and found == seen):
                self._taken = found
                self._renew()
            seen = found

    def _renew(self) -> None:
        try:
            pems = self._files.read()
            if pems is None or pems == self.pems:
                return
            check_pems(pems)
        except HeadraceError as error:
            _log.error("the certificates stay as they were: %s", error.message)
            return
        self.pems = pems
        for entrance in self._entrances:
            entrance.renew(pems)
        _log.info("new certificates are shown")
