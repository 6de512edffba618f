# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions, as the programs that read them see them, and
commands of the pages, as shells do."""

import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "cluster"))
import manual  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MOKKA_BUILD", ROOT / "build")) / "release"
LIMIT = 60

# What is typed, and all that is offered then.
WORKERS = ["elector", "informer", "placer", "projector", "web"]
LEVELS = ["debug", "error", "info", "warn"]
OFFERED = (
    ("mokkactl st", ["status"]),
    ("mokkactl dump ", WORKERS),
    ("mokkactl log p", ["placer", "projector"]),
    ("mokkactl log placer ", LEVELS),
    ("mokkactl log --socket x placer ", LEVELS),
    ("mokkactl log --socket=x placer ", LEVELS),
    ("mokkactl log -s x ", WORKERS),
    ("mokkactl status --output ", ["json", "wide"]),
    ("mokkactl status -o ", ["json", "wide"]),
    ("mokkactl plan --exit", ["--exit-code"]),
    ("mokkactl completion ", ["bash", "fish", "kubectl", "zsh"]),
    ("mokkactl man c", ["control-plane"]),
    ("control-plane --log-l", ["--log-level"]),
    ("control-plane --log-level ", LEVELS),
    ("control-plane --project-clique-label t", ["true"]),
    ("control-plane --pod-name x --wait w", ["web"]),
)


def run(*words, text=None, **more):
    done = subprocess.run(words, input=text, text=True, capture_output=True, timeout=LIMIT,
                          check=False, **more)
    return done.returncode, done.stdout, done.stderr


def script(shell):
    return run(BUILD / "mokkactl", "completion", shell)[1]


def flags():
    """Those of control-plane, by its own help."""
    return re.findall(r"(?m)^  (?:-h, )?--([a-z-]+)", run(BUILD / "control-plane", "--help")[1])


def commands():
    """Those of mokkactl, and the options of each, by their own help."""
    names = re.findall(r"(?m)^  ([a-z]+) ", run(BUILD / "mokkactl", "--help")[1])
    return {name: re.findall(r"(?m)^  (?:   |-\w, )? ?--([a-z-]+)",
                             run(BUILD / "mokkactl", name, "--help")[1])
            for name in names if name != "plan"}  # which has a text of its own


class Manual(unittest.TestCase):
    def page(self, *words):
        status, text, err = run(BUILD / "mokkactl", "man", *words)
        self.assertEqual((status, err), (0, ""))
        return text

    def test_6_pages_are_without_a_complaint_of_mandoc(self):
        for program in "mokkactl", "control-plane":
            # A version without a date yet says so, which is none to mandoc.
            text = self.page(program).replace(" unreleased ", " 2026-01-01 ", 1)
            done = run("mandoc", "-T", "lint", "-W", "style", text=text)
            self.assertEqual((done[0], done[1]), (0, ""), program)

    def test_6_control_plane_has_every_flag_variable_and_default(self):
        text = run("mandoc", "-T", "ascii", "-O", "width=200",
                   text=self.page("control-plane"))[1]
        text = re.sub(r".\x08", "", text)
        self.assertTrue(text.startswith("CONTROL-PLANE(8)"))
        table = (ROOT / "docs" / "options.md").read_text()
        rows = re.findall(r"(?m)^\| `--([a-z-]+)[^|]*\| (?:`(\w+)`)? *\| (?:`([^`]+)`)?", table)
        self.assertEqual([r[0] for r in rows], [f for f in flags() if f not in ("help", "version")])
        for name, variable, default in rows:
            part = re.search(rf"(?ms)^ +--{name}\b.*?(?=^ +--|^[A-Z])", text)
            self.assertIsNotNone(part, name)
            self.assertIn(variable, part.group())
            if default:
                self.assertIn(f"(default {default})", part.group())

    def test_6_mokkactl_has_every_command_and_option(self):
        text = run("mandoc", "-T", "ascii", text=self.page())[1]
        text = re.sub(r".\x08", "", text)
        for name, options in commands().items():
            part = re.search(rf"(?ms)^   {name}\b.*?(?=^   \w|^[A-Z])", text)
            self.assertIsNotNone(part, name)
            for option in options:
                if option != "help":
                    self.assertIn(f"--{option}", part.group())

    def test_6_an_installation_has_pages_and_completions(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("cmake", "--install", BUILD, "--component", "manual",
                       env={**os.environ, "DESTDIR": folder})
            self.assertEqual(done[0], 0, done[2])
            there = sorted(p.name for p in pathlib.Path(folder).rglob("*") if p.is_file())
            self.assertEqual(there, ["_mokkactl", "control-plane", "control-plane.8",
                                     "control-plane.fish", "mokkactl", "mokkactl.1",
                                     "mokkactl.fish"])

    def test_6_what_is_not_there_is_named(self):
        for words, said in ((("man", "informer"), "not of informer"),
                            (("completion", "csh"), "not for csh")):
            status, out, err = run(BUILD / "mokkactl", *words)
            self.assertEqual((status, out, err.count("\n")), (1, "", 1))
            self.assertIn(said, err)


class Version(unittest.TestCase):
    def test_6_version_names_commit_and_build(self):
        for program in "control-plane", "mokkactl":
            self.assertRegex(run(BUILD / program, "--version")[1],
                             rf"^{program} [0-9.]+ \(commit \w+, build [0-9.]+-\w+\)\n$")


class Bash(unittest.TestCase):
    """As readline calls a completion, without one."""

    CALL = r"""
        source "$1"
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        compopt() { echo "<$2>"; }
        "$(complete -p "$1" | sed 's/.*-F \(\S*\).*/\1/')"
        printf '%s\n' "${COMPREPLY[@]}" | sort
        """

    def offered(self, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".bash") as file:
            file.write(script("bash"))
            file.flush()
            status, out, err = run("bash", "--norc", "-uc", self.CALL, "bash", file.name, *words,
                                   env={**os.environ, "LC_ALL": "C"})
        self.assertEqual((status, err), (0, ""), words)
        return out.split()

    def test_6_bash_offers_what_fits(self):
        for typed, wanted in OFFERED:
            self.assertEqual(self.offered(*typed.split(" ")), wanted, typed)
        # bash takes words apart at "=".
        self.assertEqual(self.offered("control-plane", "--log-format", "=", "p"), ["plain"])
        self.assertEqual(self.offered("control-plane", "-log-level", "="), LEVELS)
        self.assertEqual(self.offered("control-plane", "--kubeconfig", ""), ["<default>"])
        self.assertEqual(self.offered("mokkactl", "plan", "-f", ""), ["<default>"])
        self.assertEqual(self.offered("mokkactl", "why", ""), ["--help", "--kubeconfig", "--socket"])

    def test_6_bash_knows_every_command_and_option(self):
        self.assertEqual(self.offered("control-plane", "--"), sorted(f"--{f}" for f in flags()))
        self.assertEqual(self.offered("mokkactl", ""),
                         sorted([*commands(), "plan", "--help", "--version"]))
        for name, options in commands().items():
            self.assertEqual(self.offered("mokkactl", name, "--"),
                             sorted(f"--{o}" for o in options), name)

    def test_6_shellcheck_finds_nothing(self):
        self.assertEqual(run("shellcheck", "-s", "bash", "-", text=script("bash"))[1], "")


class Kubectl(unittest.TestCase):
    """As kubectl calls the program of a plugin; and kubectl itself."""
    OFFERED = (
        (["st"], ["status", ":4"]),
        (["dump", ""], [*WORKERS, ":4"]),
        (["-n", "x", "log", "p"], ["placer", "projector", ":4"]),
        (["--kubeconfig=x", "log", "placer", ""], [*LEVELS, ":4"]),
        (["status", "--output=j"], ["--output=json", ":4"]),
        (["status", "-o", ""], ["json", "wide", ":4"]),
        (["--name"], ["--namespace", ":4"]),
        (["-n", ""], [":4"]),
        (["--kubeconfig", ""], [":0"]),
        (["--kubeconfig=/e"], [":0"]),
        (["record", "placer", ""], [":0"]),
    )

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "kubectl_complete-mokka"
        self.program.write_text(script("kubectl"))
        self.program.chmod(0o755)

    def test_6_the_program_offers_what_fits(self):
        for typed, wanted in self.OFFERED:
            status, out, err = run(self.program, *typed, env={**os.environ, "LC_ALL": "C"})
            self.assertEqual((status, err), (0, ""), typed)
            *words, directive = out.split()
            self.assertEqual([*sorted(words), directive], wanted, typed)

    def test_6_every_option_of_the_plugin_is_known(self):
        text = run(ROOT / "deploy" / "kubectl-mokka", "--help")[1].split("Examples:")[0]
        _, out, _ = run(self.program, "--")
        self.assertEqual(sorted(out.split()[:-1]),
                         sorted(set(re.findall(r"(?<=[ ,])--[a-z]+", text))))

    def test_6_kubectl_offers_it(self):
        found = run(ROOT / "deploy" / "local" / "build")[1].strip()
        (self.folder / "kubectl-mokka").symlink_to(ROOT / "deploy" / "kubectl-mokka")
        _, out, _ = run(f"{found}/kubectl", "__complete", "mokka", "dump", "p", env={
            **os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": str(self.folder)})
        self.assertEqual(sorted(out.split()[:-1]), ["placer", "projector"])

    def test_6_shellcheck_finds_nothing(self):
        self.assertEqual(run("shellcheck", "-s", "bash", "-", text=script("kubectl"))[1], "")


class Fish(unittest.TestCase):
    def test_6_fish_offers_what_fits(self):
        for typed, wanted in OFFERED:
            status, out, err = run("fish", "--no-config", "-c",
                                   f"source; complete -C '{typed}'", text=script("fish"))
            self.assertEqual((status, err), (0, ""))
            offered = sorted(line.split("\t")[0] for line in out.splitlines())
            self.assertEqual(offered, wanted, typed)


class Zsh(unittest.TestCase):
    """At a terminal, as zsh completes nowhere else."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        file = pathlib.Path(self.folder.name, "script")
        file.write_text(script("zsh"))
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", ZDOTDIR=self.folder.name, HOME=self.folder.name)
            os.chdir(self.folder.name)
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, self.terminal)
        self.type("unsetopt prompt_sp zle_bracketed_paste; PS1='ready> '; autoload -U compinit; "
                  f"compinit -u -D; source {file}; setopt no_beep; LISTMAX=999\n")
        self.wait("ready> ")
        time.sleep(0.5)
        self.wait("")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, text, seconds=20):
        """What is shown, once text is in it and nothing more comes."""
        shown, until = "", time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.4)[0]:
                shown += os.read(self.terminal, 65536).decode()
            elif text in shown:
                return shown
        self.fail(f"no {text!r} in {shown!r}")

    def test_6_zsh_offers_what_fits(self):
        for typed, wanted in OFFERED:
            # ^D lists; a lone match is put in by a tab.
            self.type(typed + ("\t" if len(wanted) == 1 else "\x04"))
            shown = self.wait(wanted[0] if len(wanted) == 1 else wanted[-1])
            for word in wanted:
                self.assertIn(word, shown, typed)
            if wanted == LEVELS:
                self.assertNotIn("informer", shown)
            self.type("\x15")
            time.sleep(0.1)


class QuickStart(unittest.TestCase):
    """The README's commands, whatever shell they are pasted into."""

    def calls(self, shell):
        """What kubectl and helm are asked, with what is piped into them."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for program in ("kubectl", "helm"):
                stub = folder / program
                stub.write_text(
                    "#!/bin/sh\n"
                    f'{{ printf "<%s>" {program} "$@"; echo; case " $* " in '
                    f'*" create "*) cat ;; esac; }} >>"{folder}/calls"\n'
                    "echo answered; echo answered\n")
                stub.chmod(0o755)
            lines = ["REPOSITORY=REGISTRY/mokka-control-plane TAG=1",
                     *(line for line, _ in manual.commands(" start", "README.md"))]
            done = run(shell, text="\n".join(lines), cwd=folder,
                       env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertEqual((done[0], done[2]), (0, ""), shell)
            return (folder / "calls").read_text()

    def test_the_commands_do_the_same_in_every_shell(self):
        wanted = self.calls("dash")
        self.assertEqual(wanted.count("kind: Node"), 54)
        self.assertIn("<kubectl><-n><mokka-system><exec><deploy/mokka-control-plane><--><mokkactl>"
                      "<why><sim-000>", wanted)
        for shell in ("bash", "zsh"):
            self.assertEqual(self.calls(shell), wanted, shell)

    def test_blocks_of_the_pages_are_for_every_shell(self):
        for page in sorted(ROOT.glob("docs/*.md")) + [ROOT / "README.md"]:
            for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", page.read_text()):
                done = run("dash", "-n", text=block)
                self.assertEqual(done, (0, "", ""), f"{page.name}\n{block}")
            for line, _ in manual.commands(r"(?: \w+)?", page.relative_to(ROOT)):
                done = run("dash", "-n", text=line)
                self.assertEqual(done, (0, "", ""), f"{page.name}\n{line}")
                self.assertNotIn("PIPESTATUS", line)


class Build(unittest.TestCase):
    def test_a_commit_compiles_one_file_anew(self):
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        self.assertEqual([pathlib.Path(e["file"]).relative_to(ROOT).as_posix() for e in entries
                          if "MOKKA_COMMIT" in e["command"]], ["common/build.c"])

    def test_the_date_is_the_changelogs(self):
        newest, = re.findall(r"\A.*?^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(),
                             re.MULTILINE | re.DOTALL)
        head = run(BUILD / "mokkactl", "man")[1].splitlines()[0]
        self.assertEqual(head, f'.TH MOKKACTL 1 {newest[1]} "mokka {newest[0]}"')


class Readers(unittest.TestCase):
    """Whoever reads may stop, as head does: that is no error to speak of."""

    def unread(self, *words):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True,
                                  timeout=LIMIT, check=False, cwd=ROOT)
        finally:
            os.close(writer)
        return done.stderr

    def test_programs_end_without_a_word_where_nobody_reads(self):
        for words in (["docs/log-events"], ["tests/sections"],
                      [BUILD / "mokkactl", "man"], [BUILD / "control-plane", "--help"],
                      [BUILD / "mokkactl", "plan", "-f", "crds/samples", "-o", "json"]):
            self.assertEqual(self.unread(*words), "", words)

    def test_every_program_of_ours_that_prints_lines_expects_it(self):
        for file in ("deploy/helm/refresh", "deploy/image/sbom", "docs/log-events",
                     "tests/pitfalls", "tests/sections", "tests/style/links"):
            self.assertIn("signal.SIGPIPE, signal.SIG_DFL", (ROOT / file).read_text(), file)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
