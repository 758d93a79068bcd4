"""Builds the Debian packages from a build directory, without debhelper: script/package --help."""
import argparse
import datetime
import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import command_help
import manual
from common import SOURCE, PackagingError, check_program, compress, main, run, source_date, stripped, version

HERE = Path(__file__).resolve().parent / "debian"
MAINTAINER = "Berth maintainers <maintainers@berth.example>"
DESCRIPTION = """drop-in replacement for kube-scheduler
 Berth schedules the pods of a Kubernetes cluster. It makes the same
 decisions as kube-scheduler v1.37.1, accepts its flags and configuration files,
 uses its lease, needs a fraction of its CPU, and can explain its decisions
 node by node.
 .
 /usr/bin/kube-scheduler is a link to it. The service berth starts after an
 administrator has added /etc/berth/kubeconfig and enabled it."""
DEV_DESCRIPTION = """drop-in replacement for kube-scheduler - development files for custom plugins
 Headers, static libraries and the CMake package for schedulers with custom
 plugins, and the header for plugins loaded at
 run time."""


@dataclass
class Package:
    name: str
    section: str
    relations: dict[str, str]
    description: str
    root: Path


def parse():
    parser = argparse.ArgumentParser(prog="script/package", formatter_class=argparse.RawDescriptionHelpFormatter, description="""\
Builds two Debian packages from a build directory: berth (program, service, configuration, manual pages, completions) and
berth-dev (headers, libraries, CMake package). They depend on the library versions of this Debian system.
The packages are reproducible. The date is SOURCE_DATE_EPOCH, or that of the commit.""")
    parser.add_argument("--build", type=Path, metavar="DIR", help="a complete build; default: build, which is built first")
    parser.add_argument("--output", type=Path, default=Path("build/packages"), metavar="DIR", help="default: %(default)s")
    parser.add_argument("--revision", type=int, default=1, metavar="N",
                        help="packaging revision: the version is VERSION-N (default: %(default)s)")
    parser.add_argument("--only", choices=["berth", "berth-dev"], help="build only one of them")
    return parser.parse_args()


def build():
    options = parse()
    if options.build is None:
        raise PackagingError("--build is missing")
    if options.revision < 1:
        raise PackagingError(f"--revision {options.revision}: expected 1 or more")
    if not (options.build / "cmake_install.cmake").exists():
        raise PackagingError(f"{options.build}: is not a build directory; build one with script/build all")
    binary = options.build / "bin/berth"
    check_program(binary)
    date = source_date()
    full = f"{version()}-{options.revision}"
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for package in lay_out(options, Path(folder), binary, full, date):
            path = finish(package, full, date, options.output)
            print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, {package.relations['Depends']}")
    return 0


def lay_out(options, folder, binary, full, date):
    if options.only != "berth-dev":
        root = folder / "berth"
        program_files(root, binary, full, date)
        yield Package("berth", "admin", {"Depends": library_packages(root / "usr/bin/berth"), "Recommends": "ca-certificates",
                                         "Suggests": f"berth-dev (= {full})"}, DESCRIPTION, root)
    if options.only != "berth":
        root = folder / "berth-dev"
        development_files(root, options.build, full, date)
        yield Package("berth-dev", "libdevel", {"Depends": ", ".join(development_packages())}, DEV_DESCRIPTION, root)


def program_files(root, binary, full, date):
    put(root, "usr/bin/berth", stripped(binary), 0o755)
    link(root, "usr/bin/kube-scheduler", "berth")
    put(root, "usr/lib/systemd/system/berth.service", (HERE / "berth.service").read_bytes())
    put(root, "etc/berth/scheduler.yaml", (HERE / "scheduler.yaml").read_bytes())
    put(root, "etc/default/berth", (HERE / "default").read_bytes())

    tree = command_help.describe(binary)
    for name, text in manual.pages(tree, date).items():
        put(root, f"usr/share/man/man1/{name}.1.gz", compress(text.encode()))
    link(root, "usr/share/man/man1/kube-scheduler.1.gz", "berth-scheduler.1.gz")
    for name in ("kubectl-berth", "kubectl_complete-berth"):  # the plugin of kubectl
        link(root, f"usr/bin/{name}", "berth")
        link(root, f"usr/share/man/man1/{name}.1.gz", "berth.1.gz")
    for shell, path in (("bash", "bash-completion/completions/berth"), ("zsh", "zsh/vendor-completions/_berth"),
                        ("fish", "fish/vendor_completions.d/berth.fish")):
        put(root, f"usr/share/{path}", run(binary, "completion", shell).encode())
    link(root, "usr/share/bash-completion/completions/kube-scheduler", "berth")

    documents(root, "berth", full, date)
    docs = SOURCE / "docs"
    for page in sorted([docs / "differences.md", *docs.glob("guide/**/*.md"), *docs.glob("reference/*.md")]):
        put(root, f"usr/share/doc/berth/{page.relative_to(docs)}", page.read_bytes())
    for path in sorted((SOURCE / "deploy").rglob("*")):
        # Files for readers of the source tree are not packaged. The Helm chart is an artifact of its own.
        if path.is_file() and path.name not in ("README.md", "render") and "helm" not in path.parts:
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            put(root, f"usr/share/doc/berth/examples/{path.relative_to(SOURCE / 'deploy')}", path.read_bytes(), mode)


def development_files(root, build_folder, full, date):
    with tempfile.TemporaryDirectory() as folder:
        run("cmake", "--install", build_folder, "--prefix", "/usr", env_extra={"DESTDIR": folder})
        for part in ("include", "lib"):
            shutil.copytree(f"{folder}/usr/{part}", root / "usr" / part)
    archives = sorted(root.glob("usr/lib/berth/*.a"))
    if not archives:
        raise PackagingError(f"{build_folder}: installs no libraries; is it complete? script/build all")
    run("strip", "--strip-debug", "--enable-deterministic-archives", *archives)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    documents(root, "berth-dev", full, date)


def documents(root, name, full, date):
    day = datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    entry = f"berth ({full}) unstable; urgency=medium\n\n  * Release {version()}; what is new in it: changelog.gz.\n\n -- {MAINTAINER}  {day}\n"
    place = f"usr/share/doc/{name}"
    put(root, f"{place}/changelog.Debian.gz", compress(entry.encode()))
    put(root, f"{place}/changelog.gz", compress((SOURCE / "CHANGELOG.md").read_bytes()))
    put(root, f"{place}/copyright", (HERE / "copyright").read_bytes())
    put(root, f"usr/share/lintian/overrides/{name}", (HERE / f"{name}.lintian-overrides").read_bytes())


def library_packages(binary):
    """The dependencies of the program, from dpkg-shlibdeps."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "debian").mkdir()
        (Path(folder) / "debian/control").write_text("Source: berth\n\nPackage: berth\nArchitecture: any\n")
        output = run("dpkg-shlibdeps", "-O", f"-e{binary}", cwd=folder)
    return re.search(r"^shlibs:Depends=(.*)$", output, re.MULTILINE).group(1)


def development_packages():
    """The libraries in the package list of script/setup."""
    found = re.search(r"^  # libraries\n(.*?)^  #", (SOURCE / "script/setup").read_text(), re.MULTILINE | re.DOTALL)
    if not found:
        raise PackagingError("script/setup: there is no list under \"# libraries\"")
    return found.group(1).split()


def finish(package, full, date, output):
    """Adds dpkg's control files, sets one date for all files, and builds the package."""
    files = sorted(path for path in package.root.rglob("*") if path.is_file() and not path.is_symlink())
    architecture = run("dpkg", "--print-architecture").strip()
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(package.root)}\n" for path in files)
    size = sum(-(-path.stat().st_size // 1024) for path in files)
    fields = {"Package": package.name, "Source": "berth", "Version": full, "Architecture": architecture, "Maintainer": MAINTAINER,
              "Installed-Size": str(size), **package.relations, "Section": package.section, "Priority": "optional",
              "Description": package.description}
    if package.name == "berth":
        del fields["Source"]
    put(package.root, "DEBIAN/control", "".join(f"{name}: {value}\n" for name, value in fields.items()).encode())
    put(package.root, "DEBIAN/md5sums", sums.encode())
    settings = [f"/{path.relative_to(package.root)}" for path in files if path.is_relative_to(package.root / "etc")]
    if settings:
        put(package.root, "DEBIAN/conffiles", "".join(f"{path}\n" for path in settings).encode())
        for script in ("postinst", "prerm", "postrm"):
            put(package.root, f"DEBIAN/{script}", (HERE / script).read_bytes(), 0o755)
    for path in [package.root, *package.root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (date, date), follow_symlinks=False)
    path = output / f"{package.name}_{full}_{architecture}.deb"
    # One thread: with several the bytes would depend on the machine.
    run("dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "-z3", "--build", package.root, path,
        env_extra={"SOURCE_DATE_EPOCH": str(date)})
    return path


def put(root, path, data, mode=0o644):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    place.chmod(mode)


def link(root, path, target):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).symlink_to(target)


if __name__ == "__main__":
    main(build)
