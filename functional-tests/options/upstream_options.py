"""Prints every option that a deployment of OpenStack Placement registers, as one JSON object a line.

The options come from the libraries' own lists: placement's, oslo.config's, oslo.db's, oslo.log's, oslo.policy's,
oslo.middleware's and keystonemiddleware's. keystoneauth's plugins add options to [keystone_authtoken].
"""

import importlib
import json

# oslo.config lists these, but reads them only from the command line.
COMMAND_LINE = ("config_file", "config_dir")
PLUGINS = ("password", "token", "v3applicationcredential")
LISTS = (
    "placement.conf.opts:list_opts",
    "oslo_config._list_opts:list_opts",
    "oslo_db.options:list_opts",
    "oslo_log._options:list_opts",
    "oslo_policy.opts:list_opts",
    "oslo_middleware.opts:list_opts",
    "keystonemiddleware.auth_token._opts:list_opts",
    "keystonemiddleware.audit:list_opts",
)


def options():
    """The descriptions of all options. If several lists have an option, the first one's."""
    found = {}
    for source in LISTS:
        module, _, function = source.partition(":")
        for group, opts in getattr(importlib.import_module(module), function)():
            section = getattr(group, "name", group) or "DEFAULT"
            for opt in opts:
                if section == "sample_remote_file_source" or opt.dest in COMMAND_LINE:
                    continue
                found.setdefault((section, opt.dest), describe(section, opt, source))
    loading = importlib.import_module("keystoneauth1.loading")
    for plugin in PLUGINS:
        for opt in loading.get_auth_plugin_conf_options(plugin):
            described = describe("keystone_authtoken", opt, "keystoneauth1")
            found.setdefault(("keystone_authtoken", opt.dest), described)
    return list(found.values())


def describe(section, opt, source):
    kind = type(opt.type).__name__
    return {
        "section": section,
        "option": opt.name.replace("-", "_"),
        "type": kind,
        "item": type(getattr(opt.type, "item_type", None)).__name__ if kind == "List" else None,
        "choices": [c for c in (getattr(opt.type, "choices", None) or []) if c is not None],
        "min": getattr(opt.type, "min", None),
        "max": getattr(opt.type, "max", None),
        "multi": bool(opt.multi),
        "default": opt.default,
        "secret": bool(opt.secret),
        "deprecated": [[d.group or section, d.name] for d in opt.deprecated_opts if d.name],
        "source": source.partition(":")[0].partition(".")[0],
    }


def main():
    for option in options():
        print(json.dumps(option, default=str))


if __name__ == "__main__":
    main()
