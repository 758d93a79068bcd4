"""Results of the checks of shipped artifacts."""
import shutil
import sys

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
DATE = 1_700_000_000  # SOURCE_DATE_EPOCH: two builds must be identical


class Findings:
    def __init__(self, name):
        self._name = name
        self._failures = []

    def check(self, true, what):
        if not true:
            self._failures.append(what)

    def lack(self, programs, hint=""):
        """Skips the checks if one of the programs is not installed, and names it."""
        for program in programs:
            if not shutil.which(program):
                print(f"{self._name}: skipped: no {program}{hint}")
                return True
        return False

    def exit_code(self):
        for failure in self._failures:
            print(f"{self._name}: {failure}", file=sys.stderr)
        return 1 if self._failures else 0
