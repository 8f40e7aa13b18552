#!/usr/bin/env python3
"""The smallest agent: reports that a host lives, and what it has. `placet agent` is the agent for real hosts.

    examples/agent.py --url http://127.0.0.1:8778 --token TOKEN UUID

UUID is that of the host's root provider. An equal report renews the lease alone, so the agent sends the whole report
each time. The number is the time since the boot, so it rises over restarts of the agent.
"""

import argparse
import json
import pathlib
import platform
import time
import urllib.error
import urllib.request

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("uuid")
parser.add_argument("--url", default="http://127.0.0.1:8778")
parser.add_argument("--token", default="admin")
given = parser.parse_args()
boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()

while True:
    report = {"holder": f"agent.py on {platform.node()}", "boot": boot, "number": time.clock_gettime_ns(time.CLOCK_BOOTTIME),
              "lease": 60, "properties": {"kernel": platform.release()}}
    request = urllib.request.Request(
        f"{given.url}/v1/hosts/{given.uuid}/report", json.dumps(report).encode(), method="PUT",
        headers={"X-Auth-Token": given.token, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            print("reported; the lease holds until", json.load(answer)["lease_until"], flush=True)
    except urllib.error.HTTPError as refusal:
        print("refused:", refusal.read().decode(), flush=True)
    except OSError as error:
        print("no answer:", error, flush=True)
    time.sleep(20)
