"""Trials in which a session is opened as by hand: the agent runs in a pseudo-terminal, and the prompt is typed.

The last replies of these sessions record more usage than a window can hold. docs/agents.md says what each agent does in that
case: Claude Code sends everything, or asks first, the Copilot CLI leaves out what does not fit, Qwen Code refuses the prompt, and
the others first compact the session themselves. After ctx-compact or ctx-prune none of them does this.
"""

import json
import os
import time

import agents
import judge
import sessions
from judge import Failed, tool
from recorder import Recorder
from terminal import Terminal

# Claude Code asks the first question when a session is resumed that is older than 70 minutes and whose last reply used 100,000
# tokens, if the account has this question switched on. Version 2.1.332 asks the second one, but only if it has already made a
# summary, which never happens here.
QUESTIONS, AS_IT_IS = ["We recommend resuming from a summary", "Resuming from a summary uses less"], "2"
SWITCHES = {"cachedGrowthBookFeatures": {"tengu_gleaming_fair": True, "tengu_gleaming_fair_reuse": True}}
ASKS = ["2.1.197"]


def claude_code(agent, home, path, identity, work, model, asks):
    settled = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"], "rejected": []},
               "projects": {work: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
    with open(os.path.join(home, ".claude.json"), "w") as out:
        json.dump({**settled, **(SWITCHES if asks else {})}, out)
    env = agent.environment(home, model)
    if asks:
        # If these variables are set, Claude Code does not read the switches.
        del env["DISABLE_TELEMETRY"], env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
    return [agent.program(), "--resume", identity], env


def codex(agent, home, path, identity, work, model, asks):
    env = agent.configure(home, model, f'[projects."{work}"]\ntrust_level = "trusted"\n')
    # Without --no-daemon a server of Codex would outlive the trial; without --cd Codex asks for a folder.
    return [agent.program(), "resume", "--no-daemon", "--cd", work, identity], env


def pi(agent, home, path, identity, work, model, asks):
    return agent.command(path), agent.configure(home, model)


def kimi(agent, home, path, identity, work, model, asks):
    return ["node", agent.program(), "-m", "recorder", "-S", identity], agent.configure(home, model)


def qwen(agent, home, path, identity, work, model, asks):
    return ["node", agent.program(), "-y", "--resume", identity], agent.environment(home, model)


def opencode(agent, home, path, identity, work, model, asks):
    env = agent.configure(home, model)
    agent.run([agent.program(), "import", path], work, env)
    return [agent.program(), "-s", identity, "-m", "recorder/recorded"], env


def copilot(agent, home, path, identity, work, model, asks):
    return [agent.program(), f"--resume={identity}", "--allow-all"], agent.environment(home, model)


# The files of pi record no window. Three turns of these sessions exceed half of the default window.
TAIL = ["--keep-turns", "3", "--window", "272000"]
STARTS = {"claude-code": claude_code, "codex": codex, "copilot": copilot, "kimi": kimi, "opencode": opencode, "pi": pi, "pi-0.73": pi, "qwen": qwen}
# What an agent shows when a prompt can be typed, if it is silent for some time before.
READY = {"copilot": "/ commands", "kimi": "context:", "opencode": "ctrl+p", "qwen": "Type your message"}
# Agents that ask for a summary with the prompt in the history, and what they say then.
ASKS_SUMMARY = {"copilot": "Tools are unavailable in this step", "kimi": "Respond with text only"}
# Qwen Code asks for a summary, but does not accept any if the history exceeds the window.
REFUSED = "reduce the resumed history before continuing"
TRUST = ["Trust this folder?", "Do you trust the files in this folder?"]


class Opened:
    """The result of opening a session as by hand and typing the prompt."""

    def __init__(self, trial, asks=False):
        with Recorder() as model:
            command, env = STARTS[trial.agent.name](trial.agent, trial.home, trial.path, trial.identity, trial.work, model, asks)
            # All connections except those to the model are refused, also on loopback.
            env = {"PATH": os.environ["PATH"], **env, "HTTP_PROXY": model.url, "HTTPS_PROXY": model.url, "NO_PROXY": "127.0.0.1"}
            with Terminal(command, trial.work, env) as terminal:
                terminal.settle()
                if any(question in terminal.screen() for question in TRUST):
                    terminal.type("\r")
                terminal.until(lambda: READY.get(trial.agent.name, "") in terminal.screen(), 30)
                terminal.settle()
                self.is_asked = any(question in terminal.screen() for question in QUESTIONS)
                if self.is_asked:
                    terminal.type(AS_IT_IS)
                    terminal.settle()
                terminal.type(agents.PROMPT)
                time.sleep(0.5)
                terminal.type("\r")
                is_sent = terminal.until(lambda: trial.agent.sent(model.requests) is not None or REFUSED in terminal.screen(), 90)
                terminal.settle()
                self.screen = terminal.screen()
            self.is_refused = REFUSED in self.screen
            if not is_sent:
                raise Failed(f"the prompt was not sent: {self.screen[-600:]}")
            self.blocks = trial.agent.sent(model.requests) or []
            texts = [json.dumps(request, ensure_ascii=False) for request in model.requests]
            self.is_pruned = any("⟦ctx:" in text for text in texts)
            self.is_compacted_by_itself = any("turn1." in text and agents.PROMPT not in text or ASKS_SUMMARY.get(trial.agent.name, "\0") in text for text in texts)


def as_before(trial, before, opened):
    """Checks that the agent sends the whole session, compacts it first, or refuses the prompt."""
    if opened.is_refused != (trial.agent.name == "qwen"):
        raise Failed(f"it {'refuses' if opened.is_refused else 'takes'} the prompt: {opened.screen[-600:]}")
    if opened.is_refused:
        return "does not take the prompt"
    if trial.agent.name != "claude-code":
        if not opened.is_compacted_by_itself:
            raise Failed(f"it has not compacted by itself: {opened.blocks[:2]}")
        if trial.agent.name == "copilot":
            return f"sends {len(opened.blocks)} of {len(before)} blocks, and then compacts by itself"
        return "compacts by itself first"
    return all_of(before, opened)


def all_of(before, opened):
    if len(before) != len(opened.blocks) or not all(map(judge.is_same, before, opened.blocks)):
        raise Failed(f"it sends something else: {len(before)} blocks were, {len(opened.blocks)} are: {opened.blocks[:2]}")
    return f"sends all {len(before)} blocks"


def check_not_full(opened):
    if opened.is_refused or opened.is_compacted_by_itself or "context used" in opened.screen:
        raise Failed(f"it takes the session for full: {opened.screen[-600:]}")


def untouched(trial, before, asks):
    opened = Opened(trial, asks)
    return opened, as_before(trial, before, opened)


def compacted(trial, before, asks):
    report = judge.compacted(trial, True, *TAIL)
    opened = Opened(trial, asks)
    kept = judge.check_tail(before, opened.blocks, report)
    judge.check_turns(opened.blocks[-kept:], 3)
    check_not_full(opened)
    return opened, f"summary and {kept}"


def pruned(trial, before, asks):
    tool("ctx-prune", "--store", trial.store, "--min-idle", "0s", "--in-place", "--trim", "--max-chars", "300", trial.path)
    opened = Opened(trial, asks)
    if not opened.is_pruned:
        raise Failed("the results are not shortened")
    check_not_full(opened)
    return opened, all_of(before, opened)


def rolled_back(trial, before, asks):
    text = trial.read()
    trial.compact(*TAIL)
    trial.rollback()
    if trial.read() != text:
        raise Failed("the rollback gives other bytes")
    return untouched(trial, before, asks)


STEPS = {"untouched": untouched, "compacted": compacted, "pruned": pruned, "rolled back": rolled_back}


def whole(agent, folder):
    """Returns all that an agent sends of the session if no reply records much usage."""
    trial = judge.Trial(agent, sessions.long(agent.format, used=1000), folder)
    if agent.name != "copilot":
        return trial.sent()
    # The Copilot CLI counts by itself, and leaves out calls and results that do not fit into its window.
    return agent.blocks([json.loads(line) for line in tool("ctx-convert", "-q", "--to", "anthropic", trial.path).splitlines()])


def opening(agent, step, folder, asks=False):
    before = whole(agent, os.path.join(folder, "before"))
    trial = judge.Trial(agent, sessions.long(agent.format), os.path.join(folder, "full"))
    opened, outcome = STEPS[step](trial, before, asks)
    if opened.is_asked != (asks and agent.version in ASKS and step in ("untouched", "rolled back")):
        raise Failed(f"it {'asks' if opened.is_asked else 'does not ask'} first: {opened.screen[-600:]}")
    return ("asks; " if opened.is_asked else "") + outcome


def recorded(agent, text, folder):
    """Compacts a recorded session; the agent must ask nothing, and must send the summary and the end of the session."""
    trial = judge.Trial(agent, text, folder)
    before = trial.sent()
    report = judge.compacted(trial, False, *judge.TAILS["cut"])
    report.update(changed=True, keptAsTheyAre=False)
    opened = Opened(trial, asks=True)
    if opened.is_asked:
        raise Failed("it asks first")
    return f"{len(before)} blocks -> summary and {judge.check_tail(before, opened.blocks, report)}"
