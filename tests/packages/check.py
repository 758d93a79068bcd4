#!/usr/bin/env python3
"""Builds the Debian packages twice, checks their contents, and installs, upgrades, removes and purges them in a root
   of their own.
   check.py <build folder> [--lintian]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from findings import DATE, SKIPPED, Findings  # noqa: E402 (needs the path set above)

# All files that the package may contain.
ALLOWED = [re.compile(pattern + r"\Z") for pattern in (
    r"usr/bin/(berth|kube-scheduler|kubectl-berth|kubectl_complete-berth)", r"usr/lib/systemd/system/berth\.service", r"etc/berth/scheduler\.yaml", r"etc/default/berth",
    r"usr/share/man/man1/(berth(-[a-z]+)*|kube-scheduler|kubectl-berth|kubectl_complete-berth)\.1\.gz", r"usr/share/bash-completion/completions/(berth|kube-scheduler)",
    r"usr/share/zsh/vendor-completions/_berth", r"usr/share/fish/vendor_completions\.d/berth\.fish", r"usr/share/lintian/overrides/berth",
    r"usr/share/doc/berth/(copyright|changelog(\.Debian)?\.gz|((guide|guide/tutorials|reference)/(README|[a-z-]+)|differences)\.md|examples/([a-z-]+/)+[a-z-]+\.(yaml|json)|examples/static-pod/replace)",
)]

findings = Findings("packages")
check = findings.check


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def package(build, output, *arguments, **environment):
    done = run(ROOT / "script/package", "--build", build, "--output", output, *arguments,
               env={**os.environ, "SOURCE_DATE_EPOCH": str(DATE), **environment}, cwd="/")
    if done.returncode != 0:
        sys.exit(f"packages: script/package fails: {done.stderr}")
    print(done.stdout, end="")
    return next(output.glob("berth_*.deb" if "berth-dev" not in arguments else "berth-dev_*.deb"))


def entries(root):
    """Files and links, without dpkg's own files."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                  if (path.is_symlink() or not path.is_dir()) and not path.is_relative_to(root / "var/lib/dpkg"))


def check_contents(root):
    for name in entries(root):
        check(any(pattern.match(name) for pattern in ALLOWED), f"{name}: unexpected")
    done = run(root / "usr/bin/kube-scheduler", "--version")
    check(done.returncode == 0 and "Kubernetes v" in done.stdout, f"kube-scheduler --version: {done.stdout}{done.stderr}")
    done = run(root / "usr/bin/berth", "config", "check", root / "etc/berth/scheduler.yaml")
    check(done.returncode == 0, f"the configuration that is installed is refused: {done.stderr}")


def check_manuals(folder):
    """Every command has a page with its flags, and the formatter reports no errors."""
    text = {}
    for page in sorted(folder.glob("*.gz")):
        done = run("man", "--warnings", "-l", page, env={**os.environ, "MANROFFSEQ": "", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        check(done.returncode == 0 and not done.stderr, f"{page.name}: {done.stderr}")
        text[page.name.removesuffix(".1.gz")] = re.sub(".\b", "", done.stdout)
    for page, words in (("berth", ("berth-sandbox(1)", "/etc/berth/kubeconfig")), ("berth-extender", ("BERTH EXTENDER CHECK", "SEE ALSO")),
                        ("kube-scheduler", ("--leader-elect-lease-duration",)), ("berth-queue", ("--place", "kube-system/berth"))):
        for word in words:
            check(word in text.get(page, ""), f"{page}.1: has no {word}")


def check_completions(root):
    """The scripts of the package, run in the shells that are installed."""
    program = root / "usr/bin"
    script = f'''source "{root}/usr/share/bash-completion/completions/berth"; PATH="{program}:$PATH"
      complete_() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _berth; echo "${{COMPREPLY[*]}}"; }}
      complete_ berth sc; complete_ kube-scheduler --leader-elect-l; complete_ berth explain --output j; complete_ berth explain -o = t
      complete_ berth config co; complete_ berth config check /etc/host'''
    completed = run("bash", "--norc", "-c", script)
    want = ["scheduler", "--leader-elect-lease-duration", "json", "text", "convert"]
    check(completed.stdout.splitlines()[:5] == want and "/etc/hosts" in completed.stdout,
          f"bash completes to {completed.stdout!r}: {completed.stderr}")
    if shutil.which("zsh"):
        done = run("zsh", "-n", root / "usr/share/zsh/vendor-completions/_berth")
        check(done.returncode == 0, f"zsh: {done.stderr}")
    if shutil.which("fish"):
        done = run("fish", "--no-config", "-c", f'source {root}/usr/share/fish/vendor_completions.d/berth.fish; complete -C "berth exp"',
                   env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"})
        check("explain" in done.stdout, f"fish completes to {done.stdout!r}: {done.stderr}")
    done = run(program / "kubectl_complete-berth", "sta")
    check(done.stdout.startswith("status\t"), f"kubectl's plugin completes to {done.stdout!r}: {done.stderr}")


def check_unit(unit, root, folder):
    text = unit.read_text()
    command = re.search(r"^ExecStart=/usr/bin/berth ((?:.*\\\n)*.*)$", text, re.MULTILINE).group(1)
    known = run(root / "usr/bin/berth", "scheduler", "--help").stdout
    for flag in re.findall(r"(--[a-z-]+)=", command):
        check(f" {flag} " in known, f"berth.service: the program has no {flag}")
    if not shutil.which("systemd-analyze"):
        print("packages: no systemd-analyze: the unit was not verified")
        return
    # The program's path in this test.
    here = folder / "berth.service"
    here.write_text(text.replace("=/usr/bin/berth ", f"={root}/usr/bin/berth "))
    done = run("systemd-analyze", "--man=no", "verify", here)
    check(done.returncode == 0 and "berth" not in done.stderr, f"berth.service: {done.stderr}")
    # The scale goes up to 10 (no restrictions); --threshold=15 means 1.5.
    done = run("systemd-analyze", "--offline=true", "--threshold=15", "security", here)
    check(done.returncode == 0, f"berth.service: {done.stdout[-120:]}")
    print(done.stdout.strip().splitlines()[-1])


def check_life(first, second, root):
    """Install, upgrade, remove, purge: only settings are kept, until they are purged."""
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()

    def dpkg(*arguments):
        done = run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-unsafe-io", "--force-confold",
                   "--log=/dev/null", *arguments)
        check(done.returncode == 0, f"dpkg {' '.join(map(str, arguments))}: {done.stderr}")

    def version():
        return run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Version} ${db:Status-Status}", "berth").stdout

    dpkg("-i", first)
    check(version().endswith("-1 installed"), f"after the installation: {version()}")
    check(not run("dpkg", f"--root={root}", "--verify", "berth").stdout, "installed files differ from the package's")
    # As systemctl enable.
    link = root / "etc/systemd/system/multi-user.target.wants/berth.service"
    link.parent.mkdir(parents=True)
    link.symlink_to("/usr/lib/systemd/system/berth.service")
    setting = root / "etc/berth/scheduler.yaml"
    setting.write_text(setting.read_text() + "parallelism: 8\n")
    before = version().split()[0]
    dpkg("-i", second)
    check(run("dpkg", "--compare-versions", before, "lt", version().split()[0]).returncode == 0, "versions go backwards")
    check(version().endswith("-2 installed"), f"after the upgrade: {version()}")
    check("parallelism: 8" in setting.read_text(), "the upgrade has overwritten a setting")
    dpkg("-r", "berth")
    note = "var/lib/systemd/deb-systemd-helper-enabled/berth.service.dsh-also"
    kept = ["etc/berth/scheduler.yaml", "etc/default/berth", str(link.relative_to(root)), note]
    check(entries(root) == kept, f"after the removal: {entries(root)}")
    dpkg("-P", "berth")
    # systemd's own folders.
    left = {str(path.relative_to(root)) for path in root.rglob("*") if "var" not in path.relative_to(root).parts[:1]}
    left -= {"etc", "etc/systemd", "etc/systemd/system"}
    check(not left, f"after the purge: {left}")
    check((root / "var/lib/dpkg/status").read_text().strip() == "", "the package is still in dpkg's status")
    check(not entries(root), f"systemd's links or notes are left: {entries(root)}")


def check_development(package_, root):
    """A scheduler with a custom plugin finds the CMake package, which contains no paths of this machine."""
    run("dpkg-deb", "-x", package_, root)
    for path in (root / "usr/lib/cmake/berth").iterdir():
        check(str(ROOT) not in path.read_text(), f"{path.name}: names the tree that it was built from")
    done = run("cmake", "-S", ROOT / "examples/sample-plugin", "-B", root / "project", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={root}/usr")
    check(done.returncode == 0, f"find_package(berth): {done.stderr}")
    for name in run("dpkg-deb", "-f", package_, "Depends").stdout.strip().split(", "):
        check(run("dpkg-query", "-W", name).returncode == 0, f"berth-dev depends on {name}, which script/setup does not install")


def main():
    build = Path(sys.argv[1]).resolve()
    if findings.lack(("dpkg-deb", "dpkg-shlibdeps", "strip"), hint="; script/setup --packaging"):
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = package(build, folder / "first", "--only", "berth")
        again = package(build, folder / "again", "--only", "berth", TZ="Asia/Kathmandu", LC_ALL="C", HOME="/nowhere")
        check(first.read_bytes() == again.read_bytes(), "the same build gave two packages")
        second = package(build, folder / "second", "--only", "berth", "--revision", "2")
        root = folder / "root"
        run("dpkg-deb", "-x", first, root)
        check_contents(root)
        check_manuals(root / "usr/share/man/man1")
        check_completions(root)
        check_unit(root / "usr/lib/systemd/system/berth.service", root, folder)
        check_life(first, second, folder / "system")
        development = package(build, folder / "first", "--only", "berth-dev")
        check_development(development, folder / "development")
        if "--lintian" in sys.argv:
            done = run("lintian", "--allow-root", "--fail-on", "error", first, development)
            check(done.returncode == 0, f"lintian: {done.stdout}{done.stderr}")
            print(done.stdout, end="")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
