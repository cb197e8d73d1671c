#!/bin/sh
# Installs the service on Debian, as root: a user of its own, and a virtual environment in /opt/headrace. Needs python3
# and python3-venv, and no network: WHEELS is what `make wheels` leaves in dist/wheels.
set -eu
wheels=${1:?usage: install.sh WHEELS}
# The service's user is to read what is installed, whatever root's own mask is.
umask 022

getent passwd headrace >/dev/null ||
  useradd --system --user-group --home-dir /var/lib/headrace --no-create-home --shell /usr/sbin/nologin headrace
install --directory --owner=headrace --group=headrace --mode=0700 \
  /var/lib/headrace /var/cache/headrace /var/log/headrace
# Certificates and the environment come in here; the service reads, and changes nothing.
install --directory --owner=root --group=headrace --mode=0750 /etc/headrace

pip() { "$@" --disable-pip-version-check --quiet --no-cache-dir --no-index; }
needed() {
  pip "$1/bin/python" -m pip install ${2:-} \
    --find-links "$wheels" --require-hashes --requirement "$wheels/requirements.txt"
}

# Wheels that are not for this machine are found before the older version is gone.
trial=$(mktemp --directory)
trap 'rm -rf "$trial"' EXIT
python3 -m venv "$trial"
needed "$trial" --dry-run >/dev/null

# Anew: what an older version needed is gone with it.
python3 -m venv --clear /opt/headrace
needed /opt/headrace
pip /opt/headrace/bin/python -m pip install --no-deps "$wheels"/headrace-*.whl
/opt/headrace/bin/headrace --version
