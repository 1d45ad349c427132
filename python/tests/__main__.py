# SPDX-License-Identifier: BSD-2-Clause
"""All tests, as TAP for make check.  python3 -m unittest discover -s tests runs them as well."""

import sys
import unittest
from pathlib import Path


class Tap(unittest.TestResult):
    def line(self, test: unittest.TestCase, ok: bool, more: str = "") -> None:
        print(f"{'ok' if ok else 'not ok'} {self.testsRun} - {test.shortDescription() or test.id()}{more}", flush=True)

    def bad(self, test: unittest.TestCase, why: str) -> None:
        self.line(test, False)
        print("".join(f"# {line}\n" for line in why.splitlines()), end="", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.line(test, True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.line(test, True, f" # SKIP {reason}")

    def addFailure(self, test, err) -> None:  # type: ignore[no-untyped-def]
        super().addFailure(test, err)
        self.bad(test, self.failures[-1][1])

    def addError(self, test, err) -> None:  # type: ignore[no-untyped-def]
        super().addError(test, err)
        self.bad(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err) -> None:  # type: ignore[no-untyped-def]
        before = len(self.failures) + len(self.errors)
        super().addSubTest(test, subtest, err)
        if len(self.failures) + len(self.errors) > before:
            print("".join(f"# {line}\n" for line in [str(subtest), *str(err[1]).splitlines()]), end="", flush=True)
            self.partly = True

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.partly = False

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        if self.partly:
            self.line(test, False)


here = Path(__file__).parent
tests = unittest.TestLoader().discover(str(here), top_level_dir=str(here))
print(f"1..{tests.countTestCases()}", flush=True)
result = Tap()
tests.run(result)
sys.exit(not result.wasSuccessful())
