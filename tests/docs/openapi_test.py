#!/usr/bin/env python3
"""Checks that the document of the scheduler's API is valid OpenAPI 3.0.

    openapi_test.py <root of the repository>

Exits with 77 (skipped) where the Python package openapi-spec-validator is not installed. The fields are compared with
responses by process_test.
"""
import json
import pathlib
import sys

try:
    from openapi_spec_validator import validate
except ImportError:
    print("skipped: the Python package openapi-spec-validator is not installed")
    sys.exit(77)


def main():
    document = json.loads((pathlib.Path(sys.argv[1]) / "docs/reference/scheduler-api.json").read_text())
    validate(document)
    # The validator finds errors: without this the test would pass if it checked nothing.
    broken = json.loads(json.dumps(document))
    next(iter(broken["paths"].values()))["get"]["parameters"] = [{"name": "x", "in": "nowhere"}]
    try:
        validate(broken)
    except Exception:  # of any of its versions
        return 0
    print("openapi-spec-validator accepts an invalid parameter")
    return 1


if __name__ == "__main__":
    sys.exit(main())
