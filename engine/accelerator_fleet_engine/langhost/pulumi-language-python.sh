#!/bin/sh
# pulumi-language-python: starts the language host with the Python of the prepared shell, else of the active
# environment. The Pulumi CLI finds this file beside itself and reads the port from the first line of its output.
if [ -n "$ACCELERATOR_FLEET_PYTHON" ]; then
  python=$ACCELERATOR_FLEET_PYTHON
elif [ -n "$VIRTUAL_ENV" ]; then
  python=$VIRTUAL_ENV/bin/python
else
  python=python3
fi
# On PATH this file may be a link; the executor lies beside the file itself.
here=$(dirname "$(readlink -f "$0")")
exec "$python" -m accelerator_fleet_engine.langhost --executor "$here/pulumi-language-python-exec" "$@"
