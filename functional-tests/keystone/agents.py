"""`placet agent` with a login at Keystone: its own token, and a wrong password."""

from functional_tests.agent.agent_process import AgentProcess
from functional_tests.keystone import services, set_ups

HOST = "a9e20000-0000-4000-8000-000000000001"
REPORT = {"providers": [{"uuid": HOST, "name": "host"}]}
STORED = "placet has stored the report of host"


def run(tests, context):
    if context.server != "placet":
        return
    cloud = context.cloud
    cloud.user("agent", "service", "service")
    options = set_ups.options(cloud)
    login = options["keystone_authtoken"] | {"username": "agent", "password": cloud.passwords["agent"]}
    with services.Traced(context.logs, "placet", options, context.binary) as service:
        url = f"http://127.0.0.1:{service.port}"
        with AgentProcess(context.binary, HOST, url, REPORT, login=login) as agent:
            tests.step("an agent reports with a token that Keystone gives for its login", agent.says, STORED)
            context.logs.texts.append(agent.log())
        wrong = login | {"password": "wrong-word"}
        with AgentProcess(context.binary, HOST, url, REPORT, login=wrong) as agent:
            tests.step("an agent with a wrong password says which section to correct", agent.says,
                       "check the credentials in [keystone_authtoken]")
            tests.equal("no password is in its log", False, "wrong-word" in agent.log())
