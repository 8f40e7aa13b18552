#!/usr/bin/env bash
# Makes a Debian package of a binary that is already built:
#
#   cargo build --profile dist --locked --features mariadb,postgresql-tls
#   contrib/debian/build.sh target/dist/placet [FOLDER]
#
# Needs dpkg-dev, for the libraries that the package depends on. Prints the path of the package. The description names
# the databases that `placet --version` names. The same binary and SOURCE_DATE_EPOCH give the same package.
set -euo pipefail
umask 022
binary=$(realpath "$1") folder=$(realpath "${2:-.}")
cd "$(dirname "$0")/../.."
[[ $("$binary" --version) == placet* ]]
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
version=$("$binary" --version | awk 'NR == 1 { print $2 }')
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

put() { install -D -m "$1" "$2" "$root/$3"; }

contrib/stage.py "$binary" "$root/usr" "$root/usr/share/doc/placet"
gzip --best --no-name "$root"/usr/share/man/man1/*.1
put 0640 contrib/debian/placement.conf etc/placet/placement.conf
put 0640 contrib/debian/agent.conf etc/placet/agent.conf
put 0644 contrib/debian/logrotate etc/logrotate.d/placet
put 0644 contrib/systemd/placet.service usr/lib/systemd/system/placet.service
put 0644 contrib/systemd/placet.socket usr/lib/systemd/system/placet.socket
put 0644 contrib/systemd/placet-agent.service usr/lib/systemd/system/placet-agent.service
put 0644 LICENSE usr/share/doc/placet/copyright
gzip --best --no-name --stdout CHANGELOG.md >"$root/usr/share/doc/placet/changelog.gz"

install -d "$work/debian" "$root/DEBIAN"
printf 'Source: placet\n\nPackage: placet\nArchitecture: any\n' >"$work/debian/control"
# "SQLite 3.50.4, PostgreSQL with TLS, no MariaDB (feature mariadb)": what is absent is left out.
databases=$("$binary" --version | sed -n 's/^databases: //p' | sed -E 's/ \([^)]*\)//g; s/, no [^,]*//g')
[[ -n $databases ]]
libraries=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/placet 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
cat >"$root/DEBIAN/control" <<END
Package: placet
Version: $version-1
Architecture: $architecture
Maintainer: placet <placet@localhost>
Installed-Size: $(du -sk --apparent-size "$root/usr" "$root/etc" | awk '{ size += $1 } END { print size }')
Depends: adduser, $libraries
Suggests: haproxy, logrotate
Section: net
Priority: optional
Description: placement service for clouds
 Keeps what every provider of resources has and who uses how much of it, answers
 where something could fit, and grants claims. It replaces OpenStack Placement
 with the same REST API, the same database and the same placement.conf.
 .
 This build has the databases: $databases.
END
printf '%s\n' /etc/placet/placement.conf /etc/placet/agent.conf /etc/logrotate.d/placet >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do put 0755 "contrib/debian/$script" "DEBIAN/$script"; done
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
package=$folder/placet_$version-1_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
