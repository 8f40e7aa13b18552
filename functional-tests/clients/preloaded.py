"""Imports the modules of the `openstack` client's commands: the modules of all plugins, used or not.

Afterwards the parser of a command is made: cliff reads the metadata of all installed packages for its first parser.
"""

import contextlib
import importlib.metadata

import osc_placement.http
from openstackclient.shell import main
from osc_placement.resources.resource_provider import ListResourceProvider

__all__ = ["main", "osc_placement"]
KINDS = ("openstack.", "keystoneauth1.plugin", "cliff.formatter")

for group in importlib.metadata.entry_points().groups:
    if group.startswith(KINDS):
        for entry in importlib.metadata.entry_points(group=group):
            with contextlib.suppress(Exception):  # of a plugin whose own requirements are missing
                entry.load()

ListResourceProvider(None, None).get_parser("openstack resource provider list")
