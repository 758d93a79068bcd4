#!/usr/bin/env bash
# script/lint reports a file that is not formatted, and repairs it. Skipped (77) without clang-format 19.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v clang-format-19 clang-tidy-19 >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/script"
cp "$root/script/lint" "$root/script/setup" "$work/script/"
cp "$root/.clang-format" "$work/"
cd "$work"
git init -q
printf 'int  main( ) {return 0;}\n' > bad.cpp
git add .

fail() { echo "$1" >&2; exit 1; }
if script/lint --format-only > output 2>&1; then fail "a file that is not formatted is accepted"; fi
grep -q 'bad.cpp:1' output || fail "the output does not name the file: $(cat output)"
grep -q 'script/lint --fix' output || fail "the output does not name the repair: $(cat output)"
script/lint --fix --format-only
[ "$(cat bad.cpp)" = 'int main() { return 0; }' ] || fail "the file is not repaired: $(cat bad.cpp)"
script/lint --format-only
