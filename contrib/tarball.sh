#!/usr/bin/env bash
# Makes a tarball of a binary that is already built: one folder with the binary, the manual pages, the completions, the
# documents, the examples, and the files of contrib/ that operators use.
#
#   contrib/tarball.sh target/dist/placet [FOLDER]
#
# Prints the path of the tarball. The same binary and SOURCE_DATE_EPOCH give the same tarball. The variable
# COMPRESSION_LEVEL is an option of gzip, by default --best.
set -euo pipefail
binary=$(realpath "$1") folder=$(realpath "${2:-.}")
cd "$(dirname "$0")/.."
name=placet-$("$binary" --version | awk 'NR == 1 { print $2 }')-$(uname -m)-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
contrib/stage.py "$binary" "$work/$name" "$work/$name"
tar --create --directory="$work" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" "$name" |
    gzip "${COMPRESSION_LEVEL:---best}" --no-name >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
