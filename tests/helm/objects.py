"""Reads rendered objects and makes them comparable."""
import hashlib

import yaml

# Labels that only the chart sets.
CHART_LABELS = ("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart")
INSTANCE = "app.kubernetes.io/instance"


def load(text):
    """{(kind, namespace, name): object} of a stream of documents. Two objects of one name are an error."""
    result = {}
    for item in yaml.safe_load_all(text):
        if item is None:
            continue
        key = (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        if key in result:
            raise ValueError(f"{' '.join(key)} is rendered twice")
        result[key] = item
    return result


def dump(objects):
    """The text for golden files: sorted, and without the content of files that have one source elsewhere."""
    for (kind, _, name), item in objects.items():
        if kind == "PrometheusRule":
            item["spec"] = shortened(yaml.safe_dump(item["spec"]))
        elif kind == "ConfigMap" and name.endswith("-dashboard"):
            item["data"] = {key: shortened(text) for key, text in item["data"].items()}
    return yaml.dump_all([objects[key] for key in sorted(objects)], Dumper=Dumper, width=110, sort_keys=True)


class Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def text(self, value):
        return self.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


Dumper.add_representer(str, Dumper.text)


def shortened(text):
    return "SHA-256 " + hashlib.sha256(text.encode()).hexdigest()


def permissions(rules):
    """Each rule as a set of (verb, group, resource, name), or (verb, path)."""
    result = set()
    for rule in rules:
        for verb in rule["verbs"]:
            result |= {(verb, path) for path in rule.get("nonResourceURLs", [])}
            result |= {(verb, group, resource, name) for group in rule.get("apiGroups", [])
                       for resource in rule.get("resources", []) for name in rule.get("resourceNames", ["*"])}
    return result
