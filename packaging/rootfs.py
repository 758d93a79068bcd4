"""The files of the container image: the program, its libraries, and the files for name resolution and TLS."""
import os
from dataclasses import dataclass
from pathlib import Path

import debian_files
from common import SOURCE, stripped

USER = "berth"
UID = GID = 65532  # the usual nonroot user of images without a shell

PASSWD = f"root:x:0:0:root:/:/sbin/nologin\n{USER}:x:{UID}:{GID}:Berth:/:/sbin/nologin\n"
GROUP = f"root:x:0:\n{USER}:x:{GID}:\n"
# Without it the C library queries DNS before it reads /etc/hosts. files and dns are built into it.
NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"


@dataclass(frozen=True)
class Entry:
    """A regular file, or with `target` a symbolic link."""
    data: bytes = b""
    mode: int = 0o644
    target: str = ""
    package: debian_files.Package | None = None  # its package; None: generated here


def build(binary):
    """{path without leading slash: Entry} of the whole image; directories follow from the paths."""
    entries = {
        "usr/bin/berth": Entry(stripped(binary), 0o755),
        # Under these names the program is `berth scheduler`. Manifests use them with and without the paths of
        # the images for which they were written.
        "usr/bin/kube-scheduler": Entry(target="berth"),
        "usr/bin/sample-scheduler-framework": Entry(target="berth"),
        "usr/local/bin/kube-scheduler": Entry(target="../../bin/berth"),
        "usr/bin/custom-scheduler": Entry(target="berth"),
        "custom-scheduler": Entry(target="usr/bin/berth"),  # "./custom-scheduler": the working directory is /
        "bin": Entry(target="usr/bin"),
        "etc/passwd": Entry(PASSWD.encode()),
        "etc/group": Entry(GROUP.encode()),
        "etc/nsswitch.conf": Entry(NSSWITCH.encode()),
        "usr/share/doc/berth/copyright": Entry((SOURCE / "LICENSE").read_bytes()),
    }
    _add_libraries(entries, binary)
    _add_authorities(entries)
    _add_packages(entries)
    return dict(sorted(entries.items()))


def packages(entries):
    return sorted({entry.package for entry in entries.values() if entry.package}, key=lambda package: package.name)


def write(entries, folder):
    """Writes the files to a new directory, for `COPY` of a Dockerfile."""
    for path, entry in entries.items():
        place = Path(folder) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.target:
            place.symlink_to(entry.target)
        else:
            place.write_bytes(entry.data)
            place.chmod(entry.mode)


def _add_libraries(entries, binary):
    interpreter, libraries = debian_files.shared_libraries(binary)
    for path, package in debian_files.owners({Path(os.path.realpath(interpreter)), *libraries.values()}).items():
        entries[_place(path)] = Entry(path.read_bytes(), 0o755, package=package)
    for name, path in libraries.items():
        if name != path.name:
            entries[_place(path.parent / name)] = Entry(target=path.name, package=entries[_place(path)].package)
    # The kernel uses the interpreter path in the program: /lib64/ld-linux-x86-64.so.2.
    top = f"/{interpreter.parts[1]}"
    if os.path.islink(top):
        entries[top[1:]] = Entry(target=os.readlink(top))
    link = f"usr{interpreter}" if os.path.islink(top) else str(interpreter)[1:]
    if link not in entries:
        target = os.path.relpath(os.path.realpath(interpreter), f"/{os.path.dirname(link)}")
        entries[link] = Entry(target=target, package=entries[_place(os.path.realpath(interpreter))].package)


def _add_authorities(entries):
    package, bundle = debian_files.certificate_authorities()
    entries["etc/ssl/certs/ca-certificates.crt"] = Entry(bundle, package=package)
    # OpenSSL's default path
    entries["usr/lib/ssl/cert.pem"] = Entry(target="../../../etc/ssl/certs/ca-certificates.crt")


def _add_packages(entries):
    """Licence files, and package metadata for vulnerability scanners."""
    for package in packages(entries):
        entries[f"var/lib/dpkg/status.d/{package.name}"] = Entry(package.control.encode(), package=package)
        if package.needs_notice:
            entries[f"usr/share/doc/{package.name}/copyright"] = Entry(package.copyright.read_bytes(), package=package)


def _place(path):
    return str(path).lstrip("/")
