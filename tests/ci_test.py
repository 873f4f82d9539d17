"""What .ci/second_tries says of a run's logs."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / ".ci" / "second_tries"
FAILED = " 2/32 Test  #1: config/0 .........................***Failed    2.88 sec\n"
KILLED = " 3/32 Test  #1: config/0 .......................SIGPIPE***Exception:  82.31 sec\n"
PASSED = " 4/32 Test  #1: config/0 .........................   Passed    2.50 sec\n"


def said(log):
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        file.write(log)
        file.flush()
        run = subprocess.run([TOOL, file.name], capture_output=True, text=True)
    return run.returncode, run.stdout


class SecondTriesTest(unittest.TestCase):
    def test_a_test_that_passed_when_tried_again_is_named(self):
        for first in (FAILED, KILLED):
            status, text = said(first + PASSED)
            self.assertEqual(status, 0)
            self.assertIn("SECOND TRY: config/0", text)

    def test_what_failed_in_it_is_named_too(self):
        log = (FAILED + "[  FAILED  ] DurationTest.Rounds (3 ms)\n[  FAILED  ] Any/SizeTest.Holds/0\n 1 FAILED TEST\n" +
               PASSED.replace("config/0", "config/1").replace("#1", "#2") + "[  FAILED  ] OtherTest.Of\n" + PASSED)
        self.assertIn("SECOND TRY: config/0 Any/SizeTest.Holds/0 DurationTest.Rounds (", said(log)[1])

    def test_one_that_passed_at_once_and_one_that_never_did_are_not(self):
        for log in (PASSED, FAILED + FAILED):
            self.assertEqual(said(log), (0, "No test needed a second try.\n"))


if __name__ == "__main__":
    unittest.main()
