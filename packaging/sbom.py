"""Generates a bill of materials: SPDX 2.3 as JSON."""
import datetime
import hashlib
from urllib.parse import quote

from common import PackagingError, version
import debian_files

# Packages whose headers are compiled into the program.
COMPILED_IN = ("libboost1.81-dev", "libprotozero-dev")


def describe(name, entries, packages, digest, date):
    """The document of `name` with `entries` (rootfs.Entry by path) from `packages` and Berth's source tree."""
    files = [_file(path, entry) for path, entry in entries.items() if not entry.target]
    of_package = {package: [] for package in (None, *packages)}
    for record, entry in zip(files, (entry for entry in entries.values() if not entry.target)):
        of_package[entry.package].append(record)
    berth = {**_package("SPDXRef-Berth", "berth", version(), "Apache-2.0", "Organization: Berth", of_package[None]),
             "externalRefs": [_locator(f"pkg:generic/berth@{version()}")]}
    debian_packages = [_debian_package(package, of_package[package]) for package in packages]
    compiled_in = [_debian_package(package, []) for package in _compiled_in()]
    whole = {**_package("SPDXRef-Whole", name, version(), "NOASSERTION", "Organization: Berth", []),
             "checksums": [{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}]}
    relations = [_relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Whole")]
    for package in (berth, *debian_packages):
        relations.append(_relation("SPDXRef-Whole", "CONTAINS", package["SPDXID"]))
    for package in of_package:
        identity = "SPDXRef-Berth" if package is None else _identity(package)
        relations += [_relation(identity, "CONTAINS", record["SPDXID"]) for record in of_package[package]]
    relations += [_relation("SPDXRef-Berth", "DEPENDS_ON", package["SPDXID"]) for package in debian_packages]
    relations += [_relation("SPDXRef-Berth", "STATIC_LINK", package["SPDXID"]) for package in compiled_in]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:berth:sbom:{digest}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: berth-packaging", "Organization: Berth"],
        },
        "packages": [whole, berth, *debian_packages, *compiled_in],
        "files": files,
        "relationships": relations,
    }


def _compiled_in():
    found = []
    for name in COMPILED_IN:
        try:
            found.append(debian_files.package(name))
        except PackagingError:
            pass  # built elsewhere: unknown values are omitted
    return found


def _file(path, entry):
    return {
        "SPDXID": f"SPDXRef-File-{hashlib.sha1(path.encode()).hexdigest()[:16]}",
        "fileName": f"./{path}",
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(entry.data).hexdigest()},
                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(entry.data).hexdigest()}],
        "licenseConcluded": entry.package.licence if entry.package else "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }


def _package(identity, name, version_, licence, supplier, files):
    package = {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version_,
        "supplier": supplier,
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": bool(files),
    }
    if files:
        sums = sorted(record["checksums"][0]["checksumValue"] for record in files)
        code = hashlib.sha1("".join(sums).encode()).hexdigest()
        package["packageVerificationCode"] = {"packageVerificationCodeValue": code}
    return package


def _debian_package(package, files):
    record = _package(_identity(package), package.name, package.version, package.licence, "Organization: Debian", files)
    locator = f"pkg:deb/debian/{quote(package.name)}@{quote(package.version)}?arch={package.architecture}&distro=debian-12"
    record["externalRefs"] = [_locator(locator)]
    record["sourceInfo"] = f"built from the Debian source package {package.source} {package.source_version}"
    return record


def _identity(package):
    return f"SPDXRef-Debian-{package.name.replace('+', '-plus')}"


def _relation(element, kind, related):
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}


def _locator(locator):
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
