#!/usr/bin/env python3
"""Each kind of error in a document is reported, and correct content is not.

    check_test.py <path of the program berth>
"""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check.py")
PACKAGING = CHECK.parents[2] / "packaging"
OTHER = "# Here it is\n\n## `berth` and [links](page.md)\n\n## Twice\n\n## Twice\n"
CASES = [
    # page, expected error
    ("[a](other.md) [b](other.md#twice-1) [c](#title) [d](https://nowhere.example/x#y)\n# Title\n", None),
    ("[a](other.md#berth-and-links)\n", None),
    ("[a](missing.md)\n", "missing.md: there is no such file"),
    ("[a](other.md#nothing)\n", "other.md#nothing: there is no such heading"),
    ("see `src/there.cpp` and `src/<name>/x`\n", None),
    ("see `src/gone.cpp`\n", "`src/gone.cpp`: there is no such file"),
    ("`berth explain --pod ns/name` and `berth scheduler --berth-seed=3 -v2`\n", None),
    ("`berth explain --pods ns/name`\n", "berth explain: there is no flag --pods"),
    ("text\n\n    berth config check a.yaml\n    kubectl get x | berth explain -f - --nope\n", "berth explain: there is no flag --nope"),
    ("```\nbuild/bin/berth scheduler \\\n  --no-such-flag\n```\n", "berth scheduler: there is no flag --no-such-flag"),
    ("`berth_pods_total{node}` and `scheduler_name`\n", None),
    ("`berth_pots_total`\n", "`berth_pots_total`: there is no such metric"),
    ("text\n\n    berth measure --config a.yaml\n", "berth measure needs --filename"),
    ("text\n\n    kubectl get nodes -o json | berth measure --config a.yaml -f -\n", None),
    ("berth is a noun --here\n", None),
    ("```yaml\nkind: A\nx: [1\n```\n", "YAML"),
    ("    apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeSchedulerConfiguration\n    parallelism: 3\n", None),
    ("    apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeSchedulerConfiguration\n    paralelism: 3\n", "did you mean \"parallelism\"?"),
    ("    cat > x <<E\n    kind: KubeSchedulerConfiguration\n    apiVersion: kubescheduler.config.k8s.io/v1\n    paralelism: 3\n    E\n", "did you mean"),
    ("    cat > x <<'E'\n    kind: ConfigMap\n    E\n    kubectl apply -f x\n", None),
]


def main():
    failures = 0
    for page, expected in CASES:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "packaging").symlink_to(PACKAGING)
            (root / "src").mkdir()
            (root / "src" / "there.cpp").write_text("")
            (root / "docs" / "reference").mkdir(parents=True)
            (root / "docs" / "reference" / "metrics.md").write_text("| metric |\n|---|\n| `berth_pods_total` |\n")
            (root / "other.md").write_text(OTHER)
            (root / "page.md").write_text(page)
            result = subprocess.run([sys.executable, "-B", str(CHECK), directory, sys.argv[1]], capture_output=True, text=True)
        right = result.returncode == (1 if expected else 0) and (expected or "") in result.stdout and result.stdout.count("\n") == (1 if expected else 0)
        if not right:
            failures += 1
            print(f"{page!r}: expected {expected!r}, got {result.returncode} {result.stdout}{result.stderr}")
    print(f"{len(CASES)} documents, {failures} with wrong results")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
