"""Finds the files of this Debian system that a program needs, and their packages."""
import functools
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from common import PackagingError, run

# By source package without its version: the licence of the shipped files, words that its copyright file must
# contain, and whether binary copies must include that file (the Boost licence does not require it).
LICENCES = {
    "glibc": ("LGPL-2.1-or-later", "GNU Lesser General Public", True),
    "gcc": ("GPL-3.0-or-later WITH GCC-exception-3.1", "GCC RUNTIME LIBRARY EXCEPTION", True),
    "zlib": ("Zlib", "License: Zlib", True),
    "openssl": ("Apache-2.0", "License: Apache-2.0", True),
    "fmtlib": ("MIT", "License: Expat", True),
    "libzstd": ("BSD-3-Clause", "License: BSD-3-clause", True),
    "re2": ("BSD-3-Clause", "License: BSD-3-google", True),
    "jemalloc": ("BSD-2-Clause", "License: BSD-2-Clause", True),
    "simdjson": ("Apache-2.0", "License: Apache-2.0", True),
    "yaml-cpp": ("MIT", "License: X11", True),  # Debian's X11 is SPDX's MIT
    "boost": ("BSL-1.0", "License: BSL-1.0", False),
    "ca-certificates": ("MPL-2.0", "License: MPL-2.0", True),
    "protozero": ("BSD-2-Clause AND Apache-2.0", "License: BSD-2-Clause and Apache-2.0", True),
}


@dataclass(frozen=True)
class Package:
    name: str
    architecture: str
    version: str
    source: str
    source_version: str
    control: str  # its paragraph in dpkg's status file, without dpkg's internal fields

    @property
    def copyright(self):
        return Path(f"/usr/share/doc/{self.name}/copyright")

    @functools.cached_property
    def _licence(self):
        key = re.sub(r"-?[0-9.]+$", "", self.source) if self.source not in LICENCES else self.source
        if key not in LICENCES:
            raise PackagingError(f"{self.name}: packaging/debian_files.py has no licence for the source package "
                                 f"{self.source}; {self.copyright} contains it")
        spdx, words, needed = LICENCES[key]
        if words not in self.copyright.read_text(errors="replace"):
            raise PackagingError(f"{self.name}: {self.copyright} does not contain \"{words}\" any more: is it still {spdx}?")
        return spdx, needed

    @property
    def licence(self):
        """An SPDX expression."""
        return self._licence[0]

    @property
    def needs_notice(self):
        return self._licence[1]


@functools.cache
def package(name):
    fields = ("binary:Package", "Package", "Architecture", "Version", "source:Package", "source:Version")
    values = run("dpkg-query", "-W", "-f", "\t".join("${%s}" % field for field in fields), name).split("\t")
    stanza = run("dpkg-query", "-s", values[0])
    kept = re.sub(r"^(Conffiles|Config-Version):.*\n(^ .*\n)*", "", stanza, flags=re.MULTILINE)
    return Package(*values[1:], control=kept)


def owners(paths):
    """{path: package of the file}. Checks that the contents are those of the packages."""
    # Packages list their files with or without /usr, independent of the other packages.
    names = {path: (str(path), str(path)[len("/usr"):] if str(path).startswith("/usr/") else f"/usr{path}") for path in paths}
    # Unknown names cause an exit code here; the error below names the file.
    output = run("dpkg-query", "-S", *(name for pair in names.values() for name in pair), accept=(0, 1))
    found = {line.split(": ", 1)[1]: line.split(":")[0] for line in output.splitlines() if ": /" in line}
    result = {}
    for path, pair in names.items():
        name = next((name for name in pair if name in found), None)
        if name is None:
            raise PackagingError(f"{path}: belongs to no Debian package; all shipped files must come from packages")
        _check_unchanged(found[name], name)
        result[path] = package(f"{found[name]}:{_architecture()}" if _is_multiarch(found[name]) else found[name])
    return result


def shared_libraries(binary):
    """The program interpreter, and {library name: path} of all loaded libraries."""
    interpreter, libraries = None, {}
    for line in run("ldd", binary).splitlines():
        if "not found" in line:
            raise PackagingError(f"{binary}: {line.strip()}")
        if found := re.match(r"\s*(\S+) => (/\S+) ", line):
            libraries[found.group(1)] = Path(os.path.realpath(found.group(2)))
        elif found := re.match(r"\s*(/\S+) ", line):
            interpreter = Path(found.group(1))
    if interpreter is None:
        raise PackagingError(f"{binary}: has no program interpreter; is it a dynamically linked program?")
    return interpreter, dict(sorted(libraries.items()))


def certificate_authorities():
    """Mozilla's certificate authorities in one file, without those added on this machine."""
    certificates = package("ca-certificates")
    folder = Path("/usr/share/ca-certificates/mozilla")
    files = sorted(folder.glob("*.crt"))
    if not files:
        raise PackagingError(f"{folder}: is empty; install the package ca-certificates")
    for path in files:
        _check_unchanged(certificates.name, str(path))
    return certificates, b"".join(path.read_bytes().rstrip() + b"\n" for path in files)


@functools.cache
def _architecture():
    return run("dpkg", "--print-architecture").strip()


def _is_multiarch(name):
    return Path(f"/var/lib/dpkg/info/{name}:{_architecture()}.list").exists()


@functools.cache
def _checksums(name):
    info = f"/var/lib/dpkg/info/{name}:{_architecture()}" if _is_multiarch(name) else f"/var/lib/dpkg/info/{name}"
    lines = Path(f"{info}.md5sums").read_text().splitlines()
    return {f"/{line[34:]}": line[:32] for line in lines}


def _check_unchanged(name, path):
    if _checksums(name).get(path) != hashlib.md5(Path(path).read_bytes()).hexdigest():
        raise PackagingError(f"{path}: differs from the file in the package {name}; run apt-get install --reinstall {name}")
