"""`config check` with the values that published tools write into placement.conf: it exits with 0.

The values are in the documentation of the tools: kolla-ansible, openstack-ansible, OpenStack-Helm, devstack, the charms
and TripleO. Paths lead into the case's folder.
"""

from functional_tests.lib.certificates import Authority, put
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import conf, names
from functional_tests.process.placet_process import Placet, run

LOGIN = {"auth_type": "password", "username": "placement", "password": "hunter2", "project_name": "service"}
BY_NAME = {"user_domain_name": "Default", "project_domain_name": "Default"}
BY_ID = {"user_domain_id": "default", "project_domain_id": "default"}
CACHE = {"memcached_servers": "10.0.0.1:11211,10.0.0.2:11211", "memcache_security_strategy": "ENCRYPT",
         "memcache_secret_key": "hunter3"}

KOLLA = {
    "DEFAULT": {"debug": "False", "log_file": "{here}/placement-api.log", "state_path": "{here}"},
    "oslo_middleware": {"enable_proxy_headers_parsing": "True"},
    "oslo_concurrency": {"lock_path": "{here}/tmp"},
    "placement_database": {
        "connection": "mysql+pymysql://placement:hunter2@10.0.0.9:3306/placement?ssl_ca={here}/ca.crt",
        "connection_recycle_time": "10", "max_overflow": "1000", "max_pool_size": "1", "max_retries": "-1"},
    "cache": {"backend": "oslo_cache.memcache_pool", "enabled": "True", "memcache_servers": "10.0.0.1:11211"},
    "keystone_authtoken": LOGIN | BY_ID | CACHE | {
        "service_type": "placement", "www_authenticate_uri": "https://cloud.example.org:5000",
        "auth_url": "https://10.0.0.9:5000", "cafile": "{here}/ca.crt", "region_name": "RegionOne"},
    "profiler": {"enabled": "true", "trace_sqlalchemy": "true", "hmac_keys": "hunter4",
                 "connection_string": "redis://10.0.0.9"}}

OPENSTACK_ANSIBLE = {
    "DEFAULT": {"use_journal": "True"},
    "keystone_authtoken": LOGIN | BY_ID | CACHE | {
        "insecure": "False", "auth_url": "http://172.29.236.100:5000/v3",
        "www_authenticate_uri": "https://cloud.example.org:5000", "region_name": "RegionOne",
        "service_token_roles_required": "True", "service_token_roles": "service", "service_type": "placement"},
    "placement_database": {
        "connection": "mysql+pymysql://placement:hunter2@172.29.236.100:3306/placement?charset=utf8&ssl_verify_cert=true"
                      "&ssl_ca={here}/ca.crt",
        "max_overflow": "50", "max_pool_size": "5", "pool_timeout": "30", "connection_recycle_time": "600"}}

# A deployment's override has -1 for the overflow. `ssl_verify_cert` has no value in the chart.
OPENSTACK_HELM = {
    "DEFAULT": {"debug": "false", "use_syslog": "false", "log_config_append": "/etc/placement/logging.conf"},
    "placement_database": {
        "connection": "mysql+pymysql://placement:hunter2@mariadb.openstack.svc.cluster.local:3306/placement?charset=utf8"
                      "&ssl_ca={here}/ca.crt&ssl_key={here}/client.key&ssl_cert={here}/client.crt&ssl_verify_cert",
        "max_overflow": "-1", "max_pool_size": "0"},
    "keystone_authtoken": LOGIN | CACHE | {
        "service_token_roles": "service", "service_token_roles_required": "true", "auth_version": "v3",
        "service_type": "placement", "auth_uri": "http://keystone.openstack.svc.cluster.local:80/v3",
        "auth_url": "http://keystone-api.openstack.svc.cluster.local:5000/v3", "user_domain_name": "service",
        "project_domain_name": "service", "region_name": "RegionOne"},
    "oslo_concurrency": {"lock_path": "/var/lock"}}

DEVSTACK = {
    "placement_database": {"connection": "mysql+pymysql://root:hunter2@127.0.0.1/placement?charset=utf8&plugin=dbcounter"},
    "DEFAULT": {"debug": "True", "log_color": "True", "logging_exception_prefix": "ERROR %(name)s %(instance)s",
                "logging_default_format_string": "%(color)s%(levelname)s %(name)s [-%(color)s] %(message)s",
                "logging_context_format_string": "%(color)s%(levelname)s %(name)s [%(request_id)s] %(message)s",
                "logging_debug_format_suffix": "{{{{(pid=%(process)d) %(funcName)s %(pathname)s:%(lineno)d}}}}"},
    "api": {"auth_strategy": "keystone"},
    "keystone_authtoken": LOGIN | BY_NAME | {
        "memcached_servers": "localhost:11211", "cafile": "{here}/ca.crt", "interface": "public",
        "auth_url": "http://127.0.0.1/identity", "www_authenticate_uri": "http://127.0.0.1/identity",
        "service_type": "placement"},
    "oslo_policy": {"enforce_scope": "True", "enforce_new_defaults": "True"}}

CHARM = {
    "DEFAULT": {"debug": "False", "use_syslog": "true"},
    "api": {"auth_strategy": "keystone"},
    "placement_database": {"connection": "mysql+pymysql://placement:hunter2@127.0.0.1/placement?ssl_ca={here}/ca.crt"
                                         "&ssl_cert={here}/client.crt&ssl_key={here}/client.key"},
    "keystone_authtoken": LOGIN | {
        "www_authenticate_uri": "https://10.5.0.1:5000/v3", "auth_url": "https://10.5.0.1:35357/v3",
        "user_domain_name": "service_domain", "project_domain_name": "service_domain", "project_name": "services",
        "service_token_roles": "service", "service_token_roles_required": "True"},
    "placement": {"randomize_allocation_candidates": "true"},
    "oslo_policy": {"enforce_scope": "False", "enforce_new_defaults": "False"}}

TRIPLEO = {
    "DEFAULT": {"debug": "True", "log_dir": "{here}"},
    "placement_database": {
        "connection": "mysql+pymysql://placement:hunter2@overcloud.internalapi.localdomain/placement?collectd_host=localhost"
                      "&collectd_program_name=placement_api&plugin=collectd&read_default_file={here}/tripleo.cnf"
                      "&read_default_group=tripleo"},
    "api": {"auth_strategy": "keystone"},
    "keystone_authtoken": LOGIN | BY_NAME | {
        "www_authenticate_uri": "https://overcloud.internalapi.localdomain:5000", "interface": "internal",
        "auth_url": "https://overcloud.internalapi.localdomain:5000", "region_name": "regionOne"}}

FILES = {"kolla-ansible": KOLLA, "openstack-ansible": OPENSTACK_ANSIBLE, "OpenStack-Helm": OPENSTACK_HELM,
         "devstack": DEVSTACK, "the charms": CHARM, "TripleO": TRIPLEO}
# What `config check` must say of a file.
SAID = {
    "kolla-ansible": ["note: [oslo_concurrency] is of oslo.concurrency", "note: [cache] is of oslo.cache"],
    "openstack-ansible": ["warning: [placement_database] connection: 'charset' in the URL has no effect"],
    "OpenStack-Helm": ["warning: [placement_database] max_pool_size = 0 and max_overflow = -1 set no limit",
                       "'ssl_verify_cert' in the URL has no value", "auth_uri: an older name"],
    "devstack": ["'plugin' in the URL has no effect"],
    "the charms": ["note: [DEFAULT] use_syslog: accepted, but not used"],
    "TripleO": ["'plugin' in the URL has no effect", "'collectd_program_name' in the URL has no effect"]}


def written(here, values):
    """The file, and those that it names."""
    put(here / "ca.crt", Authority("authority").pem)
    Authority("clients").issue_files(here, "client")
    (here / "tripleo.cnf").write_text(f"[tripleo]\nbind-address=10.0.0.3\nssl=1\nssl-ca={here}/ca.crt\n")
    lines = []
    for section, options in values.items():
        lines += [f"[{section}]", *(f"{name} = {value.format(here=here)}" for name, value in options.items())]
    return conf(here, "\n".join(lines) + "\n")


@case("found C2, C3, C4: `config check` exits with 0 for the files of published tools, and says what has no effect")
def published_files():
    for tool, values in FILES.items():
        with folder() as here:
            path = written(here, values)
            done = run(here, "--config-file", path, "config", "check", "--bind", "127.0.0.1:0")
            equal(done.code, 0, tool, done.out, done.err)
            names(done.out, *SAID[tool])
            check("hunter" not in done.out, done.out)
            quiet = run(here, "--config-file", path, "config", "check", "--quiet", "--bind", "127.0.0.1:0")
            equal(quiet.code, 0, tool, quiet.out)
            check("note:" not in quiet.out and "0 errors" not in quiet.out, quiet.out)


@case("found C4: `config check --quiet` prints nothing if there are notes alone")
def quiet():
    with folder() as here:
        values = KOLLA | {"placement_database": KOLLA["placement_database"] | {"max_pool_size": "1", "max_overflow": "9"}}
        done = run(here, "--config-file", written(here, values), "config", "check", "--quiet", "--bind", "127.0.0.1:0")
        equal((done.code, done.out, done.err), (0, "", ""))


@case("found C5: a PEM file that is cut off is named with its line, for Keystone, the database and the listener")
def cut_off():
    cut = "is cut off after line 5: -----BEGIN CERTIFICATE----- on line 1 has no line -----END CERTIFICATE-----"
    with folder() as here:
        path = written(here, KOLLA)
        whole = (here / "ca.crt").read_text()
        (here / "ca.crt").write_text("".join(whole.splitlines(keepends=True)[:5]))
        done = run(here, "--config-file", path, "config", "check", "--bind", "127.0.0.1:0")
        equal(done.code, 2, done)
        lines = [line for line in done.out.splitlines() if cut in line and f"{here}/ca.crt" in line]
        equal(len(lines), 2, "[keystone_authtoken] cafile and the URL's ssl_ca", done.out)
        check("[67, 69" not in done.out, done.out)
        path = conf(here, "[api]\nauth_strategy = noauth2\n[placement_database]\n"
                    f"connection = postgresql://u@h/d?sslmode=verify-full&sslrootcert={here}/ca.crt\n"
                    f"[placet]\ntls_certificate = {here}/ca.crt\ntls_key = {here}/client.key\n")
        done = run(here, "--config-file", path, "config", "check", "--bind", "127.0.0.1:0")
        for option in ("[placet] tls_certificate", "'sslrootcert' in the URL"):
            check(any(option in line and cut in line for line in done.out.splitlines()), option, done.out)
        key = (here / "client.key").read_text().splitlines(keepends=True)
        (here / "client.key").write_text("".join(key[:2]))
        (here / "ca.crt").write_text(whole)
        done = run(here, "--config-file", path, "config", "check", "--bind", "127.0.0.1:0")
        names(done.out, "[placet] tls_key", "is cut off after line 2: -----BEGIN PRIVATE KEY-----")


@case("found C3: five mistakes of [keystone_authtoken] are all in one answer of `config check`")
def five_mistakes():
    with folder() as here:
        path = conf(here, "[placement_database]\nconnection = sqlite:///x\n[keystone_authtoken]\nauth_url = k:5000\n"
                    "auth_type = password\nusername = placement\nproject_name = service\ncafile = /nowhere.crt\n")
        done = run(here, "--config-file", path, "config", "check", "--bind", "127.0.0.1:0")
        equal(done.code, 2, done)
        names(done.out, "must begin with http", "user_domain_name is not set", "password is not set",
              "project_domain_name is not set", "cafile = /nowhere.crt")


@case("found C1: a start says which bound holds for a pool without a limit")
def bound_at_start():
    with folder() as here:
        more = {"placement_database": {"max_overflow": "-1", "max_pool_size": "0"}}
        with Placet(here, more) as placet:
            placet.alive()
            placet.stop()
            names(placet.log(), " WARN ", "set no limit: placet opens at most 100 connections for reads")
