"""A clean Debian 12 in a directory, with its own processes, host name and network."""
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

RELEASE = "bookworm"
# Packages of a usual Debian installation that debootstrap's minimal variant lacks.
USUAL = ("apt-utils", "bash-completion", "ca-certificates", "curl", "man-db")
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb",
         "MANWIDTH": "100", "PAGER": "cat", "DEBIAN_FRONTEND": "noninteractive", "KUBECONFIG": "/etc/kubernetes/admin.conf"}
PROXIES = ("http_proxy", "https_proxy", "no_proxy")

# The first process of the machine: it ends with the program that started it, and ends all others.
FIRST = """set -e
root=$1
ip link set lo up
hostname master1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/run/lock"
echo ready
while read -r _; do :; done
"""


class Unavailable(Exception):
    """This machine lacks a prerequisite."""


def repositories():
    """The machine's package sources of Debian 12: [(address, suite, components)], the release itself first."""
    output = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"],
                            capture_output=True, text=True, check=True).stdout
    found = {}
    for address, suite, component in (line.split() for line in output.splitlines() if len(line.split()) == 3):
        if suite in (RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security") and component == "main":
            found.setdefault(suite, address)
    if RELEASE not in found:
        raise Unavailable(f"apt of this machine has no {RELEASE}; apt-get update, if it should have")
    return [(found[suite], suite) for suite in sorted(found)]


def apt_settings():
    """The machine's apt settings: proxies, and the check of dates."""
    output = subprocess.run(["apt-config", "dump", "--format", '%f "%v";%n', "Acquire"], capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in output.splitlines()
                   if re.match(r"Acquire::(https?(::[^ ]+)?|Check-[A-Za-z-]+|Retries) \"[^\"]", line))


def base(cache, report):
    """A tarball of the base system; created once per mirror and package list."""
    address = repositories()[0][0]
    key = hashlib.sha256(" ".join((address, RELEASE, *USUAL)).encode()).hexdigest()[:12]
    tarball = cache / f"debian-{RELEASE}-{key}.tar"
    if tarball.exists():
        return tarball, False
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{tarball.name}.{os.getpid()}"
    report("creating a clean Debian 12 (some minutes, only once) ...")
    try:
        done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(USUAL)}", RELEASE, folder, address],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"debootstrap fails: {(done.stdout + done.stderr).strip().splitlines()[-1:]}")
        shutil.rmtree(folder / "var/cache/apt/archives")
        (folder / "var/cache/apt/archives/partial").mkdir(parents=True)
        subprocess.run(["tar", "--numeric-owner", "-C", folder, "-cf", f"{folder}.tar", "."], check=True)
        os.rename(f"{folder}.tar", tarball)
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)
    return tarball, True


class Machine:
    def __init__(self, root, tarball):
        self.root = root
        root.mkdir()
        subprocess.run(["tar", "--numeric-owner", "-C", root, "-xpf", tarball], check=True)
        lines = [f"deb {address} {suite} main\n" for address, suite in repositories()]
        (root / "etc/apt/sources.list").write_text("".join(lines))
        # Suppresses apt's warning about scripts: there is no terminal.
        (root / "etc/apt/apt.conf.d/50walk").write_text(apt_settings() + 'Apt::Cmd::Disable-Script-Warning "true";\n')
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", root / "etc" / name)
        (root / "etc/hostname").write_text("master1\n")
        with (root / "etc/hosts").open("a") as hosts:
            hosts.write("127.0.0.1 master1\n")
        self._first = subprocess.Popen(["unshare", "--net", "--mount", "--propagation=private", "--uts", "--pid", "--fork", "--kill-child",
                                        "bash", "-c", FIRST, "first", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._first.stdout.readline() != "ready\n":
            raise Unavailable("namespaces are not to be had here")
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split()
        self._enter = f"/proc/{children[0]}/ns/"

    def within(self, *, network=True):
        """The command prefix that runs a program in the machine's namespaces, with or without the outside network."""
        if network:
            return ["nsenter", f"--net={self._enter}net"]
        return ["nsenter", f"--mount={self._enter}mnt", f"--uts={self._enter}uts", f"--pid={self._enter}pid"]

    def shell(self, line, *, online=False, timeout=600):
        """Runs a command line as root; online: with the outside network, for downloads. Started processes continue."""
        words = self.within(network=False) + ([] if online else [f"--net={self._enter}net"])
        environment = dict(CLEAN)
        if online:
            environment.update({name: os.environ[name] for name in PROXIES if name in os.environ})
        # A file, not a pipe: started services keep it open.
        output = self.root / "tmp/output"
        with output.open("w") as stream:
            done = subprocess.run([*words, "chroot", self.root, "/usr/bin/env", "-C", "/root", "bash", "-c", line], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, timeout=timeout)
        return done.returncode, output.read_text(errors="replace")

    def files(self):
        """All files that an installation could leave behind, without those of apt, dpkg, logs and caches."""
        own = re.compile(r"(tmp|proc|dev|run|root|var/(cache|log|tmp|lib/(apt|dpkg))|etc/kubernetes)(/|\Z)|etc/(ld\.so\.cache|\.pwd\.lock)\Z")
        found = set()
        for folder, folders, names in os.walk(self.root):
            here = os.path.relpath(folder, self.root)
            here = "" if here == "." else f"{here}/"
            found.update(here + name for name in [*folders, *names] if not own.match(here + name))
            folders[:] = [name for name in folders if not own.match(here + name) and not os.path.islink(os.path.join(folder, name))]
        return found

    def close(self):
        self._first.stdin.close()
        self._first.wait()
