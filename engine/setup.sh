#!/bin/sh
# Makes .venv equal to the lock file. Works offline once the caches are warm; takes 0.1 s when nothing is to be done.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9
case ${XDG_CACHE_HOME:-} in /*) cache=$XDG_CACHE_HOME ;; *) cache=$HOME/.cache ;; esac
tools=$cache/accelerator-fleet/tools

say() { echo "setup: $*" >&2; }

# What this machine lacks of engine/debian-packages.txt.
missing_packages() {
  sed 's/#.*//' engine/debian-packages.txt | while read -r package; do
    [ -z "$package" ] && continue
    case $package in
      python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null || echo "$package" ;;
      iproute2) command -v ip >/dev/null || echo "$package" ;;
      util-linux) command -v unshare >/dev/null || echo "$package" ;;
      *) command -v "$package" >/dev/null || echo "$package" ;;
    esac
  done | tr '\n' ' '
}

debian() {
  wanted=$(missing_packages)
  [ -z "$wanted" ] && return 0
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    say "installing Debian packages: $wanted"
    # shellcheck disable=SC2086
    { apt-get install -y -q --no-install-recommends $wanted || { apt-get update -q && apt-get install -y -q --no-install-recommends $wanted; }; } >&2
  else
    say "missing: $wanted"
    say "as root, once:  apt-get install -y --no-install-recommends $wanted"
    # Only what makes the Python environment is needed here; tests that need the rest say so when they are skipped.
    case " $wanted" in *" python3-venv "*) command -v uv >/dev/null || exit 1 ;; esac
  fi
}

find_uv() {
  if command -v uv >/dev/null; then command -v uv; return; fi
  echo "$tools/uv-$UV_VERSION/bin/uv"
}

command -v python3 >/dev/null || { say "python3 (3.11 or newer) is needed: apt-get install -y python3"; exit 1; }
debian
uv=$(find_uv)
if [ ! -x "$uv" ]; then
  say "uv is not on PATH: taking uv $UV_VERSION from PyPI into $tools"
  rm -rf "$tools/uv-$UV_VERSION.part"
  python3 -m venv "$tools/uv-$UV_VERSION.part"
  "$tools/uv-$UV_VERSION.part/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
  rm -rf "$tools/uv-$UV_VERSION"
  mv "$tools/uv-$UV_VERSION.part" "$tools/uv-$UV_VERSION"
fi

# Offline first: with warm caches no name is looked up. What is missing is then fetched, and its errors are shown.
# UV_PYTHON_DOWNLOADS: the machine's own Python or none, never one from elsewhere.
export UV_PYTHON_DOWNLOADS=never
unset VIRTUAL_ENV
if [ ! -x .venv/bin/python ]; then say "making .venv from uv.lock"; fi
"$uv" sync --frozen --inexact --offline --quiet 2>/dev/null || "$uv" sync --frozen --inexact --quiet
