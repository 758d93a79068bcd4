"""The page of the configuration file: the output of `berth config fields`, with a sentence for each field."""
import re

from common import SOURCE, PackagingError, run

SENTENCES = SOURCE / "packaging" / "reference_fields.txt"
TYPES = {"int": "integer", "int32": "integer", "int64": "integer", "float32": "number", "float64": "number", "bool": "boolean", "string": "text",
         "duration": "duration", "[]uint8": "base64", "[]string": "list of texts", "object": "object",
         "v1.ResourceList": "object", "": "any"}
POINT = re.compile(r"^(profiles\[\]\.plugins)\.([a-zA-Z]+)(?=$|\.)")
ALIASES = {"custom": "CPUUsage", "network_traffic": "NetworkTraffic"}


def page(binary, note):
    owners = {}
    points = []
    for line in run(binary, "config", "fields").splitlines():
        owner, path, kind, default = line.split("\t")
        if found := POINT.match(path):
            if found[2] not in points:
                points.append(found[2])
            path = POINT.sub(r"\1.<point>", path)
            default = ""
        owners.setdefault(owner, {}).setdefault(path, (kind, default))
    sentences = _sentences()
    lines = ["# Configuration", "", note, "Every field of `kubescheduler.config.k8s.io/v1` and of the arguments of plugins, as the program reads them. What files of older versions mean is in "
             "[configuration files](../guide/configuration.md). `[]` is each item of a list; a default of a list is its first item's.", "",
             f"`<point>` is one of {', '.join(f'`{point}`' for point in points)}.", ""]
    missing, described = [], set()
    for owner, fields in owners.items():
        lists = {path: f"{path}[]" for path in fields if any(other.startswith(f"{path}[].") for other in fields)}
        fields = {lists.get(path, path): fact for path, fact in fields.items()}
        lines += [f"## {owner}" if owner == "KubeSchedulerConfiguration" else f"## Arguments of {owner}", "",
                  "| field | type | default | meaning |", "|---|---|---|---|"]
        for path, (kind, default) in fields.items():
            key = _find(sentences, owner, path)
            if key is None:
                missing.append(f"[{owner}] {path}")
                continue
            described.add(key)
            lines.append(f"| `{path}` | {_type(kind, path, fields)} | {_default(default)} | {sentences[key]} |")
        lines.append("")
    if missing:
        raise PackagingError(f"{SENTENCES.name}: no sentence about " + "; ".join(missing))
    if unused := [f"[{owner}] {path}" for owner, path in sentences if (owner, path) not in described]:
        raise PackagingError(f"{SENTENCES.name}: there is no field " + "; ".join(unused))
    return "\n".join(lines).rstrip() + "\n"


def _sentences():
    sentences, owner = {}, None
    for line in SENTENCES.read_text().splitlines():
        if line.startswith("["):
            owner = line.strip("[]")
        elif line:
            path, text = line.split(": ", 1)
            sentences[owner, path] = text
    return sentences


def _find(sentences, owner, path):
    """The key of a field's sentence: the field itself, or its name in any place ("*.key"); both names of a plugin share them."""
    for name in (owner, ALIASES.get(owner, owner)):
        for key in (path, f"*.{path.rsplit('.', 1)[-1]}"):
            if (name, key) in sentences:
                return name, key
    return None


def _default(text):
    """The default value without quotes; the fields of list items have their own entries."""
    if not text or text.startswith("[{"):
        return ""
    text = text[1:-1].replace('\\"', '"') if text.startswith('"') else text
    return f"`{text}`".replace("|", "\\|")


def _type(kind, path, fields):
    if kind in TYPES and not any(other.startswith(path + ".") for other in fields):
        return TYPES[kind]
    if kind.startswith("[]"):
        return "list"
    return "object" if any(other.startswith(path + ".") for other in fields) else "text"
