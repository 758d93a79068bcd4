"""Builds the container image from a built program, without a container engine: script/image --help."""
import argparse
import hashlib
import io
import json
import shutil
import tarfile
from datetime import datetime, timezone
from pathlib import Path

import rootfs
import sbom
from common import SUMMARY, PackagingError, check_program, compress, main, run, source_date, version

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"


def parse():
    parser = argparse.ArgumentParser(prog="script/image", formatter_class=argparse.RawDescriptionHelpFormatter, description="""\
Builds the container image of Berth from a release build without container engine, daemon or network. Writes to the output
directory:
  oci/                  the image as an OCI image layout
  berth-VERSION-image-ARCHITECTURE.tar
                        the same for `docker load`, `podman load` and `ctr image import`
  berth-VERSION-image-ARCHITECTURE.spdx.json
                        its bill of materials: files, Debian packages, versions, licences
The build is reproducible: the same program, Debian packages and date give the same bytes. The date is SOURCE_DATE_EPOCH
or that of the commit.""")
    parser.add_argument("--binary", type=Path, metavar="FILE", help="the program; default: build/bin/berth, which is built first")
    parser.add_argument("--output", type=Path, default=Path("build/image"), metavar="DIR", help="default: %(default)s")
    parser.add_argument("--tag", default=f"berth:{version()}", metavar="NAME:TAG", help="default: %(default)s")
    parser.add_argument("--rootfs", type=Path, metavar="DIR", help="only write the image's files to this new directory")
    return parser.parse_args()


def build():
    options = parse()
    if options.binary is None:
        raise PackagingError("--binary is missing")
    name, colon, tag = options.tag.rpartition(":")
    if not (name and colon and tag) or "/" in tag:
        raise PackagingError(f"--tag {options.tag}: expected NAME:TAG, as in berth:{version()}")
    check_program(options.binary)
    entries = rootfs.build(options.binary)
    if options.rootfs:
        if options.rootfs.exists():
            raise PackagingError(f"--rootfs {options.rootfs}: already exists")
        rootfs.write(entries, options.rootfs)
        return 0

    date = source_date()
    architecture = run("dpkg", "--print-architecture").strip()
    plain = layer(entries, date)
    packed = compress(plain, level=7)  # 9 takes three times as long and saves a third of a percent
    config = encode(configuration(architecture, plain, date))
    manifest = encode(image_manifest(config, packed))
    index = encode(image_index(manifest, architecture, options.tag))
    blobs = {digest(blob): blob for blob in (packed, config, manifest)}

    options.output.mkdir(parents=True, exist_ok=True)
    write_layout(options.output / "oci", index, blobs)
    stem = f"berth-{version()}-image-{architecture}"
    archive = options.output / f"{stem}.tar"
    archive.write_bytes(loadable(index, blobs, digest(config), digest(packed), options.tag, date))
    bill = sbom.describe(options.tag, entries, rootfs.packages(entries), digest(manifest), date)
    (options.output / f"{stem}.spdx.json").write_text(json.dumps(bill, indent=1) + "\n")

    print(f"{options.tag}: {digest(manifest)}")
    program = len(entries["usr/bin/berth"].data)
    print(f"{mib(len(packed))} to pull, {mib(sum(len(entry.data) for entry in entries.values()))} unpacked, "
          f"{mib(program)} of it the program; {len(entries)} files and links from {len(rootfs.packages(entries))} Debian packages")
    print(archive)
    return 0


def layer(entries, date):
    """The tar of all files: sorted, owned by root, with one date, read-only."""
    folders = {str(parent) for path in entries for parent in Path(path).parents} - {"."}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folders | entries.keys()):
            info = tarfile.TarInfo(path)
            info.mtime = date
            entry = entries.get(path)
            if entry is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            elif entry.target:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
            else:
                info.size, info.mode = len(entry.data), entry.mode
            tar.addfile(info, io.BytesIO(entry.data) if info.isreg() else None)
    return buffer.getvalue()


def configuration(architecture, plain, date):
    created = stamp(date)
    return {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{rootfs.UID}:{rootfs.GID}",
            "ExposedPorts": {"10259/tcp": {}},
            "Env": ["PATH=/usr/local/bin:/usr/bin"],
            "Entrypoint": ["/usr/bin/berth"],
            "Cmd": ["scheduler"],
            "WorkingDir": "/",
            "Labels": labels(),
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(plain)]},
        "history": [{"created": created, "created_by": "script/image"}],
    }


def labels():
    prefix = "org.opencontainers.image."
    return {f"{prefix}title": "berth", f"{prefix}description": SUMMARY, f"{prefix}version": version(),
            f"{prefix}licenses": "Apache-2.0"}


def image_manifest(config, packed):
    return {"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIG, config),
            "layers": [descriptor(LAYER, packed)], "annotations": labels()}


def image_index(manifest, architecture, tag):
    return {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [{
            **descriptor(MANIFEST, manifest),
            "platform": {"architecture": architecture, "os": "linux"},
            # The tag for podman and skopeo, the full name for containerd (`ctr images import`).
            "annotations": {"org.opencontainers.image.ref.name": tag.rpartition(":")[2],
                            "io.containerd.image.name": full_name(tag)},
        }],
    }


def full_name(tag):
    """The name by which containerd finds an image that a manifest names by this tag: without a registry, it is completed like
    Docker's. Under another name the kubelet would not find an imported image, and try to pull it."""
    first, slash, _ = tag.partition("/")
    if not slash:
        return f"docker.io/library/{tag}"
    return tag if first == "localhost" or "." in first or ":" in first else f"docker.io/{tag}"


def write_layout(folder, index, blobs):
    if folder.exists():
        if not (folder / "oci-layout").exists():
            raise PackagingError(f"{folder}: exists and is not an image layout; remove it")
        shutil.rmtree(folder)
    for name, data in layout_files(index, blobs).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def layout_files(index, blobs):
    files = {"oci-layout": encode({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    files.update({f"blobs/{name.replace(':', '/')}": data for name, data in sorted(blobs.items())})
    return files


def loadable(index, blobs, config, packed, tag, date):
    """One tar that is both an OCI layout and an archive in the format of `docker save`."""
    files = layout_files(index, blobs)
    blob = lambda name: f"blobs/{name.replace(':', '/')}"
    files["manifest.json"] = encode([{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(packed)]}])
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in ("blobs", "blobs/sha256"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, date
            tar.addfile(info)
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), 0o644, date
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def descriptor(kind, data):
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def stamp(date):
    return datetime.fromtimestamp(date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def mib(count):
    return f"{count / 2**20:.1f} MiB"


if __name__ == "__main__":
    main(build)
