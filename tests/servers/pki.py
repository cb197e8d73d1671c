"""Certificates as HopsFS gives them out, and such as must be refused."""

from __future__ import annotations

import shutil
from pathlib import Path

from service.certificates import Authority


class Pki:
    """An authority with one below it that signs, as HopsFS has it, and folders of what it gives out.

    Each folder has `ca_chain.pem`, and a certificate with its key: `client_cert.pem` and `client_key.pem`, or
    `server_cert.pem` and `server_key.pem`.
    """

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        root = Authority(folder, f"{name}-root")
        self._signs = Authority(folder, name, root)
        self.ca_chain = folder / "ca_chain.pem"
        self.ca_chain.write_bytes(self._signs.cert.read_bytes() + root.cert.read_bytes())

    def server(
        self,
        name: str = "server",
        hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
        days: tuple[float, float] = (-1, 1),
    ) -> Path:
        return self._pems(name, "server", hosts, days)

    def client(
        self, name: str = "client", days: tuple[float, float] = (-1, 1), password: bytes | None = None
    ) -> Path:
        """With a password, the key is encrypted."""
        return self._pems(name, "client", (), days, password)

    def _pems(
        self,
        name: str,
        role: str,
        hosts: tuple[str, ...],
        days: tuple[float, float],
        password: bytes | None = None,
    ) -> Path:
        folder = self._folder / f"{name}-pems"
        folder.mkdir(exist_ok=True)
        cert, key = self._signs.issue(name, hosts, days=days, password=password)
        (folder / f"{role}_cert.pem").write_bytes(cert.read_bytes() + self._signs.cert.read_bytes())
        key.replace(folder / f"{role}_key.pem")
        cert.unlink()
        shutil.copy(self.ca_chain, folder)
        return folder


def replace(folder: Path, other: Path, *names: str) -> None:
    """Take these files, or all, from another folder: other certificates, or a key that does not fit its own."""
    for name in names or [path.name for path in other.iterdir()]:
        shutil.copy(other / name, folder / f"{name}.new")
        (folder / f"{name}.new").replace(folder / name)
