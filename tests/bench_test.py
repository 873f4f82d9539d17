"""What the tables of bench/ say of what was measured."""

import contextlib
import http.client
import io
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))

import counters  # noqa: E402
import measure  # noqa: E402
import queries  # noqa: E402
import report  # noqa: E402
import targets  # noqa: E402


def cells(table, line):
    return [cell.strip() for cell in table.splitlines()[line].strip("|").split("|")]


class TargetTest(unittest.TestCase):
    def test_a_figure_reaches_its_must_before_its_aim(self):
        self.assertEqual([targets.Target(2, 4).standing(value) for value in (1.9, 2, 3.9, 4)],
                         ["MISSED", "must reached", "must reached", "aim reached"])

    def test_of_what_is_to_be_small_less_is_better(self):
        self.assertEqual([targets.at_most(2, 1.3).standing(value) for value in (2.1, 2, 1.3)],
                         ["MISSED", "must reached", "aim reached"])

    def test_what_was_not_measured_reaches_nothing(self):
        self.assertEqual(targets.Target(2, 4).standing(None), "not measured")


class BesidePeersTest(unittest.TestCase):
    NAMES = ["tallyd", "victoria-metrics", "victoria-metrics-1.79"]

    def row(self, values, more_is_better):
        return cells(targets.beside_peers(
            "load", self.NAMES, self.NAMES,
            [("a", "b", dict(zip(self.NAMES, values)), str, targets.Target(2, 4), more_is_better)]),
            2)

    def test_the_peer_is_the_one_that_does_more(self):
        self.assertEqual(self.row([6.0, 2.0, 3.0], True)[5:],
                         ["2.00x", "2.00x", "4.00x", "must reached"])

    def test_the_peer_is_the_one_that_takes_less_time(self):
        self.assertEqual(self.row([1.0, 9.0, 4.0], False)[5:],
                         ["4.00x", "2.00x", "4.00x", "aim reached"])

    def test_one_peer_is_enough(self):
        self.assertEqual(self.row([6.0, None, 2.0], True)[3:6], ["-", "2.0", "3.00x"])

    def test_a_figure_without_a_target_is_told_and_not_judged(self):
        row = [("a", "b", {"tallyd": 6.0, "victoria-metrics": 2.0}, str, None, True)]
        table = targets.beside_peers("load", self.NAMES, self.NAMES, row)
        self.assertEqual(cells(table, 2)[5:], ["3.00x", "-", "-", ""])

    def test_without_a_peer_nothing_is_reached(self):
        self.assertEqual(self.row([6.0, None, None], True)[5:],
                         ["-", "2.00x", "4.00x", "not measured"])


class AnswersTest(unittest.TestCase):
    def test_sums_in_another_order_are_no_difference(self):
        self.assertIsNone(queries.difference({"": [50.0, 0.1 + 0.2]}, {"": [50.0, 0.3]}))

    def test_another_value_is_named(self):
        self.assertEqual(queries.difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.01]}),
                         "2.01 at step 1 of a, not 2.0")

    def test_a_missing_step_and_a_missing_series_are_named(self):
        self.assertEqual(queries.difference({"a": [1.0, 2.0]}, {"a": [1.0]}), "1 values of a, not 2")
        self.assertEqual(queries.difference({"a": [1.0]}, {}), "0 series, not 1")

    def test_tallyd_and_victoria_metrics_answer_in_one_form(self):
        tallyd = (b'{"columns":["ts","hostname","CPU/CPU1_USR"],'
                  b'"rows":[[0,"a",1.5],[0,"b",2],[60000,"a",3]]}')
        victoria = (b'{"data":{"result":[{"metric":{"hostname":"a"},"values":[[59.999,"1.5"],[119,"3"]]},'
                    b'{"metric":{"hostname":"b"},"values":[[59.999,"2"]]}]}}')
        wanted = {"a": [1.5, 3.0], "b": [2.0]}
        self.assertEqual(queries.TallydQueries.series(tallyd), wanted)
        self.assertEqual(queries.VictoriaQueries.series(victoria), wanted)


class CountersTest(unittest.TestCase):
    def test_the_loaders_numbers_are_drawn_again(self):
        random = counters.Random(1, 0)
        self.assertEqual([random.between(1, 1000) for _ in range(4)], [27, 971, 107, 328])


class RoundsTest(unittest.TestCase):
    @staticmethod
    def rounds(*words):
        parser = measure.make_parser("A command.")
        measure.add_rounds(parser)
        return measure.rounds(parser.parse_args(words))

    def test_all_of_the_data_is_measured_three_times(self):
        self.assertEqual(self.rounds(), 3)

    def test_a_part_of_it_is_tried_once(self):
        self.assertEqual(self.rounds("--quick"), 1)

    def test_who_asks_for_more_gets_more(self):
        self.assertEqual(self.rounds("--quick", "--rounds", "9"), 9)

    def test_no_round_at_all_is_refused(self):
        for text in ("0", "-1", "two"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as told:
                self.rounds("--rounds", text)
            self.assertIn(f"a number from 1 on is wanted, not {text}", told.getvalue())

    def test_the_headline_says_it_where_there_are_several(self):
        self.assertEqual(measure.tell_rounds(1), "")
        self.assertEqual(measure.tell_rounds(3), "; medians of 3, in turns")


class TurnsTest(unittest.TestCase):
    """What several servers are asked in turns; a server here is a dict of answers, and of times."""

    def ask(self, servers, count):
        self.order = []

        def get_of(name):
            def get(target):
                if servers[name][target] is None:
                    raise http.client.IncompleteRead(b"")
                self.order.append((name, target))
                return target.upper()
            return get

        def median_ms(server, target, repeat):
            return servers[server.name][target].pop(0)

        asked = {name: (types.SimpleNamespace(name=name, get=get_of(name)),
                        [(target, target, str) for target in answers])
                 for name, answers in servers.items()}
        with unittest.mock.patch.object(measure, "median_ms", median_ms), \
                contextlib.redirect_stderr(io.StringIO()):
            return measure.ask_in_turns(asked, 1, count)

    def test_each_query_is_put_to_all_before_the_next(self):
        results = self.ask({"a": {"q": [3, 1, 2], "r": [5, 5, 5]},
                            "b": {"q": [9, 7, 8], "r": [6, 6, 6]}}, 3)
        self.assertEqual(self.order[:4], [("a", "q"), ("b", "q"), ("a", "r"), ("b", "r")])
        self.assertEqual(len(self.order), 12)
        self.assertEqual(results, {"a": ({"q": 2, "r": 5}, {"q": "Q", "r": "R"}),
                                   "b": ({"q": 8, "r": 6}, {"q": "Q", "r": "R"})})

    def test_an_answer_that_breaks_off_is_that_servers_alone(self):
        results = self.ask({"a": {"q": None}, "b": {"q": [4]}}, 1)
        self.assertEqual(results, {"a": ({"q": None}, {}), "b": ({"q": 4}, {"q": "Q"})})

    def test_servers_that_are_asked_unlike_are_refused(self):
        with self.assertRaises(ValueError):
            self.ask({"a": {"q": [1]}, "b": {"q": [1], "r": [1]}}, 1)


class SectionTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name) / "RESULTS.md"

    def save(self, title, part):
        report.save(self.path, title, [part], "a machine", "abc", "bench/x")

    def test_a_section_takes_the_place_of_the_one_of_its_title(self):
        self.path.write_text("# Measured\n\n## One\n\nold\n\n## Two\n\nstays\n")
        self.save("One", "new")
        text = self.path.read_text()
        self.assertNotIn("old", text)
        self.assertLess(text.index("new"), text.index("## Two\n\nstays\n"))
        self.assertIn("- command: `bench/x`\n", text)

    def test_a_new_section_comes_last(self):
        self.path.write_text("# Measured\n\n## One\n\nstays\n")
        self.save("Two", "new")
        self.assertTrue(self.path.read_text().startswith("# Measured\n\n## One\n\nstays\n\n## Two\n"))


if __name__ == "__main__":
    unittest.main()
