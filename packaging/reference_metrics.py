"""The page of all metrics, extracted from the sources: name, help that begins with a stability level, labels."""
import re

from common import SOURCE, PackagingError

TEXT = r'(?:"(?:[^"\\]|\\.)*"\s*)+'
MENTION = re.compile(r'(?P<prefix>\w+ \+ )?(?P<name>"[a-z_]+"|k[A-Z]\w*)\s*,\s*(?P<help>' + TEXT + r'|k[A-Z]\w*Help)')
LEVEL = re.compile(r"\[(ALPHA|BETA|STABLE|INTERNAL)\] ")
CALL = re.compile(r"\b(CallbackGauge|CallbackCounter|Counter|Gauge|Histogram)\(\s*$")
KINDS = {"Counter": "counter", "CallbackCounter": "counter", "Gauge": "gauge", "CallbackGauge": "gauge", "Histogram": "histogram"}
# Names composed at run time: their prefixes.
PREFIXES = {"src/service/auth/auth_metrics.cpp": ["apiserver_delegated_authn_request_", "apiserver_delegated_authz_request_"]}

# Labels that a helper adds.
FURTHER_LABELS = {name: ["verb", "host"] for name in (
    "rest_client_rate_limiter_duration_seconds", "rest_client_request_duration_seconds", "rest_client_request_size_bytes",
    "rest_client_response_size_bytes")} | {name: ["name", "group", "version", "resource"] for name in (
        "informer_processing_latency_seconds", "informer_queued_items", "informer_store_resource_version")} | {
            name: ["profile"] for name in ("scheduler_get_node_hint_duration_seconds", "scheduler_store_schedule_results_duration_seconds")}


def page(note):
    found = {}
    for path in sorted((SOURCE / "src").rglob("*.[ch]pp")):
        if not path.name.endswith("_test.cpp") and not path.name.startswith("fake_"):
            _read(path, found)
    lines = ["# Metrics", "", note, f"{len(found)} families, served at `/metrics` ([observability](../guide/observability.md)). A family appears with its first value. Those that begin with "
             "`berth_` are Berth's; the others are kube-scheduler's, with its names, labels and help. `/metrics/resources` has two more, about what pods ask for.", "",
             "| metric | type | labels | stability | whose | meaning |", "|---|---|---|---|---|---|"]
    for name in sorted(found):
        kind, labels, level, text = found[name]
        whose = "Berth" if name.startswith("berth_") else "kube-scheduler"
        lines.append(f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {level} | {whose} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _read(path, found):
    source = path.read_text()
    where = str(path.relative_to(SOURCE))
    constants = {name: _joined(text) for name, text in re.findall(r"\b(k[A-Z]\w*)(?:\[\])? =\s*(" + TEXT + ")", source)}
    expected = sum(1 for text in re.findall(r"(?<!\w)" + TEXT, _without_comments(source)) if LEVEL.match(_joined(text)))
    read = set()
    for mention in MENTION.finditer(source):
        text = constants.get(mention["help"]) if mention["help"].startswith("k") else _joined(mention["help"])
        name = constants.get(mention["name"]) if mention["name"].startswith("k") else mention["name"].strip('"')
        level = LEVEL.match(text or "")
        process = (name or "").startswith("process_")  # of Go's client library, without stability levels
        if not name or not (level or process):
            if name and CALL.search(source[max(0, mention.start() - 80):mention.start()]) and not mention["help"].startswith("k"):
                raise PackagingError(f"{where}: {name}: its help does not begin with a stability level")
            continue
        if level:
            read.add(mention["help"] if mention["help"].startswith("k") else mention.start())
        kind = _kind(source, mention.start(), name)
        labels = _labels(source, mention.end()) + FURTHER_LABELS.get(name, [])
        for prefix in PREFIXES.get(where, []) if mention["prefix"] else [""]:
            known = found.setdefault(prefix + name, (kind, [], level[1].lower() if level else "", text[level.end() if level else 0:]))
            known[1].extend(label for label in labels if label not in known[1])
    if len(read) != expected:
        raise PackagingError(f"{where}: {expected} help texts of metrics, but {len(read)} metrics: how are they mentioned?")


def _joined(texts):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', texts)).replace('\\"', '"')


def _without_comments(source):
    return re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)


def _kind(source, at, name):
    """The metric's type, from the surrounding call; helpers for histograms are identified by their names."""
    if called := CALL.search(source[max(0, at - 80):at]):
        return KINDS[called[1]]
    return "counter" if name.endswith("_total") else "histogram"


def _labels(source, at):
    """The label names in the rest of the call, or in the variable passed to it."""
    depth, end = 1, at
    while depth and end < len(source):
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        end += 1
    rest = source[at:end]
    labels = re.findall(r'\{\s*"([a-z_]+)",', rest)
    if not labels and (variable := re.search(r"\b(\w*labels)\b", rest)):
        before = source[:at]
        made = before.rfind(f"{variable[1]}{{")
        if made >= 0:
            labels = re.findall(r'\{\s*"([a-z_]+)",', before[made:made + 300].split(";")[0])
    return labels
