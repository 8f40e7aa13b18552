#!/usr/bin/env bash
# Runs at the end of stack.sh: placet takes over from DevStack's placement. Needs placet in /usr/local/bin.
set -euo pipefail
sudo systemctl disable --now devstack@placement-api.service
placet --config-file /etc/placement/placement.conf db sync
sudo systemd-run --unit=placet --uid="$USER" --property=Restart=on-failure \
    /usr/local/bin/placet --config-file /etc/placement/placement.conf
# Apache passes /placement to a process by HTTP, in place of uwsgi's socket.
sudo a2enmod proxy_http
echo 'ProxyPass "/placement" "http://127.0.0.1:8778/placement" retry=0' | sudo tee /etc/apache2/sites-available/placement-api.conf
sudo a2ensite placement-api
sudo systemctl reload apache2
curl --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1/placement/
