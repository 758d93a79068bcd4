#!/usr/bin/env python3
"""Builds the container image of a program twice and checks it like a registry, a scanner and a kubelet.
   check.py <berth>"""
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from findings import DATE, SKIPPED, Findings  # noqa: E402 (needs the path set above)

# All files that the image may contain.
ALLOWED = [re.compile(pattern + r"\Z") for pattern in (
    r"usr/bin/(berth|kube-scheduler|sample-scheduler-framework|custom-scheduler)", r"custom-scheduler", r"bin", r"usr/local/bin/kube-scheduler",
    r"etc/(passwd|group|nsswitch\.conf)", r"etc/ssl/certs/ca-certificates\.crt", r"usr/lib/ssl/cert\.pem",
    r"lib(64)?", r"usr/lib64/ld-linux-x86-64\.so\.2", r"usr/lib/ld-linux-aarch64\.so\.1",
    r"usr/lib/[a-z0-9_]+-linux-gnu/(ld-linux-(x86-64|aarch64)|lib(boost_json|boost_url|c|crypto|fmt|gcc_s|jemalloc|m|re2|simdjson|ssl|"
    r"stdc\+\+|yaml-cpp|z|zstd))\.so[.0-9]*",
    r"usr/share/doc/(berth|ca-certificates|lib[a-z0-9.+-]+|zlib1g)/copyright",
    r"var/lib/dpkg/status\.d/(ca-certificates|lib[a-z0-9.+-]+|zlib1g)",
)]

findings = Findings("image")
check = findings.check


def build(binary, output, **environment):
    command = [ROOT / "script/image", "--binary", binary, "--output", output]
    done = subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": str(DATE), **environment}, cwd=output.parent,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"image: script/image fails: {done.stderr}")
    return done.stdout


def blob(layout, descriptor):
    data = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    check(f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"], f"{descriptor['digest']} has another digest")
    check(len(data) == descriptor["size"], f"{descriptor['digest']} has {len(data)} bytes, {descriptor['size']} are stated")
    return data


def check_layout(layout, digest):
    """Follows the digests from the index to the files; returns the configuration and the layer."""
    check(json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}, "oci-layout is wrong")
    [entry] = json.loads((layout / "index.json").read_text())["manifests"]
    check(entry["digest"] == digest, "the index names another manifest than was printed")
    # The kubelet gives containerd the manifests' berth:TAG, which containerd completes.
    name = entry["annotations"]["io.containerd.image.name"]
    check(re.fullmatch(r"docker\.io/library/berth:[0-9.]+", name), f"containerd imports it as {name}, and would not find it as berth:TAG")
    manifest = json.loads(blob(layout, entry))
    config = json.loads(blob(layout, manifest["config"]))
    [layer] = manifest["layers"]
    plain = gzip.decompress(blob(layout, layer))
    check(config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"], "diff_ids are not those of the layer")
    check(len(list((layout / "blobs/sha256").iterdir())) == 3, "there are blobs that nothing refers to")
    check(config["config"]["User"] == "65532:65532", f"it runs as {config['config']['User']}")
    return config, plain


def check_archive(archive, layout):
    with tarfile.open(archive) as tar:
        [entry] = json.load(tar.extractfile("manifest.json"))
        check(entry["RepoTags"][0].startswith("berth:"), f"it is tagged {entry['RepoTags']}")
        for name in (entry["Config"], *entry["Layers"], "index.json", "oci-layout"):
            check(tar.extractfile(name).read() == (layout / name).read_bytes(), f"{name} of {archive.name} is not that of the layout")


def check_contents(plain):
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    check(names == sorted(names), "entries are not sorted")
    for member in members:
        check(member.isdir() or any(pattern.match(member.name) for pattern in ALLOWED), f"{member.name}: unexpected")
        check((member.uid, member.gid, member.mtime) == (0, 0, DATE), f"{member.name}: has an owner or date of its own")
        check(member.issym() or not member.mode & 0o7022, f"{member.name}: mode {member.mode:o}")
        check(member.isdir() or member.isreg() or member.issym(), f"{member.name}: is of type {member.type}")
    return members


def check_bill(bill, members):
    files = {record["fileName"][2:] for record in bill["files"]}
    check(files == {member.name for member in members if member.isreg()}, "the bill of materials lists other files")
    held = {relation["relatedSpdxElement"] for relation in bill["relationships"] if relation["relationshipType"] == "CONTAINS"}
    check({record["SPDXID"] for record in bill["files"]} <= held, "files belong to no package")
    packages = {package["name"]: package for package in bill["packages"]}
    for name in ("libc6", "libssl3", "libstdc++6", "ca-certificates"):
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True).stdout
        check(packages.get(name, {}).get("versionInfo") == installed, f"{name} {installed} is not in the bill of materials")
    for package in bill["packages"][1:]:
        check(package["licenseConcluded"] not in ("", "NOASSERTION"), f"{package['name']} has no licence")


def check_dockerfile(config, binary, plain, run):
    """The Dockerfile copies the output of --rootfs and has the same configuration."""
    done = subprocess.run([ROOT / "script/image", "--binary", binary, "--rootfs", run / "rootfs"], capture_output=True, text=True)
    check(done.returncode == 0, f"--rootfs: {done.stderr}")
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        for member in tar.getmembers():
            path = run / "rootfs" / member.name
            same = path.is_symlink() and os.readlink(path) == member.linkname if member.issym() else path.is_dir() if member.isdir() else (
                path.read_bytes() == tar.extractfile(member).read() and path.stat().st_mode & 0o777 == member.mode)
            check(same, f"--rootfs: {member.name} is not as in the image")
        check(len(list((run / "rootfs").rglob("*"))) == len(tar.getmembers()), "--rootfs: has other files than the image")
    lines = dict(line.split(" ", 1) for line in (ROOT / "packaging/Dockerfile").read_text().split("FROM scratch")[1].splitlines() if line)
    check(lines["USER"] == config["User"], "Dockerfile: another USER")
    check([lines["ENV"]] == config["Env"], "Dockerfile: another ENV")
    check(json.loads(lines["ENTRYPOINT"]) == config["Entrypoint"], "Dockerfile: another ENTRYPOINT")
    check(json.loads(lines["CMD"]) == config["Cmd"], "Dockerfile: another CMD")
    check({lines["EXPOSE"]: {}} == config["ExposedPorts"], "Dockerfile: another EXPOSE")


def check_manifests(tag, members):
    """The manifests of the tutorials use this image and programs that exist in it."""
    programs = {member.name.removeprefix("usr/bin/") for member in members if member.name.startswith("usr/bin/")}
    manifests = [path.read_text() for path in sorted((ROOT / "examples/tutorials").rglob("*.yaml"))]
    named = {name for text in manifests for name in re.findall(r"image: (berth:\S+)", text)}
    check(named == {tag}, f"the tutorials' manifests name the images {sorted(named)}, this is {tag}")
    for text in manifests:
        for program in re.findall(r"command:\s*\n\s*- ([a-z-]+)\n", text):
            check(program in programs, f"a tutorial's manifest starts {program}, which the image lacks")


def run_inside(tree, command, text=""):
    """A minimal container runtime: another root, mounted read-only, another user."""
    script = ('mount --bind "$1" "$1" && mount -o remount,bind,ro,nosuid,nodev "$1" && tree=$1 && shift && '
              'exec chroot --userspec=65532:65532 --groups=65532 "$tree" "$@"')
    return subprocess.run(["unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh", tree, *command], env={"PATH": os.environ["PATH"]},
                          input=text, capture_output=True, text=True, timeout=60)


def mount_obstacle():
    """Why this process cannot mount, as in an unprivileged container; empty: it can."""
    tried = subprocess.run(["unshare", "--mount", "--propagation=private", "true"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode != 0 else ""


def check_running(tree):
    """Every command with which a manifest may start it."""
    for command, words in ((["/usr/bin/berth", "--version"], "berth "), (["kube-scheduler", "--help"], "--leader-elect"),
                           (["/usr/local/bin/kube-scheduler", "--version"], "Kubernetes v"),
                           (["/bin/kube-scheduler", "--version"], "Kubernetes v"), (["sample-scheduler-framework", "--version"], "Kubernetes v"),
                           (["custom-scheduler", "--version"], "Kubernetes v"), (["./custom-scheduler", "--version"], "Kubernetes v"),
                           (["/usr/bin/berth", "sandbox", "--help"], "nodes")):
        done = run_inside(tree, command)
        check(done.returncode == 0 and words in done.stdout, f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    done = run_inside(tree, ["/usr/bin/berth", "config", "convert", "-", "--output", "/usr/bin/config.yaml"],
                      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    check(done.returncode != 0 and "read-only file system" in done.stderr.lower(), f"the root can be written to: {done.stderr}")
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        run_inside(tree, ["/usr/bin/berth", "version"])
        times.append(time.perf_counter() - begin)
    print(f"start to end of `berth version` as user 65532 on a read-only root: {min(times) * 1000:.0f} ms, with mounting")


def check_errors(binary, run):
    """Unusable input is rejected with an error."""
    text = run / "text"
    text.write_text("#!/bin/sh\necho berth 9.9.9\n")
    text.chmod(0o755)
    for arguments, words in ((["--binary", run / "none"], "no such program"), (["--binary", text], "prints"),
                             (["--binary", binary, "--tag", "berth"], "expected NAME:TAG"), (["--binary", binary, "--rootfs", run], "already exists")):
        done = subprocess.run([ROOT / "script/image", *arguments, "--output", run / "refused"], capture_output=True, text=True)
        check(done.returncode == 1 and words in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")


def main():
    binary = Path(sys.argv[1]).resolve()
    if findings.lack(("dpkg-query", "strip", "ldd")):
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        output = build(binary, run / "first")
        print(output, end="")
        again = build(binary, run / "second", TZ="Asia/Kathmandu", LC_ALL="C", HOME="/nowhere", USER="builder")
        first, second = (re.search(r"sha256:[0-9a-f]{64}", text).group() for text in (output, again))
        check(first == second, f"the same program gave {first} and {second}")
        for path in (run / "first").glob("berth-*"):
            check(path.read_bytes() == (run / "second" / path.name).read_bytes(), f"{path.name} differs between two builds")
        layout = run / "first/oci"
        config, plain = check_layout(layout, first)
        check_archive(next((run / "first").glob("*.tar")), layout)
        members = check_contents(plain)
        check_bill(json.loads(next((run / "first").glob("*.spdx.json")).read_text()), members)
        check_dockerfile(config["config"], binary, plain, run)
        check_manifests(re.search(r"berth:[0-9.]+", output).group(), members)
        check_errors(binary, run)
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            tar.extractall(run / "tree")
        (run / "tree").chmod(0o755)
        run.chmod(0o755)
        obstacle = mount_obstacle()
        if not obstacle:
            check_running(run / "tree")
        else:
            check("CI" not in os.environ, f"the program was not run inside the image: {obstacle}")
            print(f"image: the program was not run inside: {obstacle}")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
