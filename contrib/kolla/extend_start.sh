#!/bin/bash
# kolla_start reads this file before it runs the command of config.json, which is uWSGI's or Apache's. It does for
# placet what Kolla-Ansible asks of the container by a variable, and otherwise makes placet the command.

placet=(placet --config-file /etc/placement/placement.conf)
# The container starts as root, and the files are those of this user.
[[ $(id -u) != 0 ]] || placet=(setpriv --reuid=placement --regid=placement --init-groups "${placet[@]}")

# Deployments and reconfigurations start one container with KOLLA_BOOTSTRAP, upgrades another with KOLLA_OSM. The
# variables are empty, and the containers have to end.
if [[ -v KOLLA_BOOTSTRAP || -v KOLLA_UPGRADE ]]; then
    "${placet[@]}" db sync || exit
fi
if [[ -v KOLLA_BOOTSTRAP || -v KOLLA_OSM ]]; then
    "${placet[@]}" db online_data_migrations || exit
fi
if [[ -v KOLLA_BOOTSTRAP || -v KOLLA_UPGRADE || -v KOLLA_OSM ]]; then
    exit 0
fi

CMD="${placet[*]} serve"
ARGS=""
