#!/bin/sh
# Regenerates the names of the standard resource classes and traits from the packages that define them.
#
#     contrib/update-standard-names.sh [os-resource-classes version] [os-traits version]
#
# The default versions are the newest on PyPI. It stops if a class has moved in the list, because its position is its id
# in databases.
set -eu
mkdir -p "$(dirname "$0")/../src/model/standard"
cd "$(dirname "$0")/../src/model/standard"

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet "os-resource-classes${1:+==$1}" "os-traits${2:+==$2}"

"$venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import os_resource_classes
import os_traits


def names_in(path):
    with open(path) as file:
        return [line.strip() for line in file if not line.startswith("#")]


def write(path, package, names):
    with open(path, "w") as file:
        print(f"# {package} {version(package)}; made by contrib/update-standard-names.sh", *names, sep="\n", file=file)
    print(f"{path}: {len(names)} names of {package} {version(package)}")


classes = os_resource_classes.STANDARDS
try:
    known = names_in("resource_classes.txt")
except FileNotFoundError:
    known = []
if classes[: len(known)] != known:
    raise SystemExit("a standard class has moved in the list, but databases have its old id: nothing was written")

write("resource_classes.txt", "os-resource-classes", classes)
write("traits.txt", "os-traits", sorted(os_traits.get_traits()))
PYTHON
