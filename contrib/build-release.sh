#!/usr/bin/env bash
# Builds what a release consists of into a folder: the binary with all engines, the Debian package, the tarball, the
# container's image, the bill of materials, and the checksums of all of them.
#
#   contrib/build-release.sh [FOLDER]          (dist)
#
# The image needs podman or docker; without them everything else is built, and a line says that the image is not.
# The same commit, toolchain and system libraries give the same binary, wherever the source and cargo's home lie: their
# paths are replaced. `placet --version` names the commit, with `-modified` if the source is not that of the commit.
# Without a repository it is the variable PLACET_COMMIT.
set -euo pipefail
out=$(realpath -m "${1:-dist}")
cd "$(dirname "$0")/.."
# A repository around the source is another one.
export GIT_CEILING_DIRECTORIES=${PWD%/*}
source=$PWD home=${CARGO_HOME:-$HOME/.cargo}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_INCREMENTAL=0
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
if commit=$(git rev-parse --verify HEAD 2>/dev/null); then
    [[ -z $(git status --porcelain --untracked-files=no) ]] || commit+=-modified
    export PLACET_COMMIT=$commit
fi
export RUSTFLAGS="--remap-path-prefix=$source=/src --remap-path-prefix=$home=/cargo --remap-path-prefix=$CARGO_TARGET_DIR=/target"
# The C libraries that are built in have paths, too.
export CFLAGS="-ffile-prefix-map=$source=/src -ffile-prefix-map=$home=/cargo -ffile-prefix-map=$CARGO_TARGET_DIR=/target"
cargo build --quiet --locked --profile dist --bin placet --features mariadb,postgresql-tls
mkdir -p "$out"
cp "$CARGO_TARGET_DIR/dist/placet" "$out/placet"
package=$(contrib/debian/build.sh "$out/placet" "$out")
tarball=$(contrib/tarball.sh "$out/placet" "$out")
contrib/sbom.py >"$out/placet.cdx.json"
files=(placet placet.cdx.json "${package##*/}" "${tarball##*/}")

engine=
for each in podman docker; do "$each" info >/dev/null 2>&1 && engine=$each && break; done
if [[ -n $engine ]]; then
    # The image is not the same in each build: its layers have the time of the build.
    image=${tarball##*/} tag=placet:$("$out/placet" --version | awk 'NR == 1 { print $2 }')
    image=${image/-linux./-image.}
    "$engine" build --quiet --file Containerfile --tag "$tag" ${PLACET_COMMIT:+--build-arg "PLACET_COMMIT=$PLACET_COMMIT"} . >/dev/null
    "$engine" save "$tag" | gzip --best --no-name >"$out/$image"
    files+=("$image")
else
    echo "image: not built (no container engine)"
fi
(cd "$out" && sha256sum "${files[@]}" | tee SHA256SUMS)
