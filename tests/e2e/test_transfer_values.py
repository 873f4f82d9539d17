"""tallyd export and tallyd load: what goes out comes in again as what it was, and is counted."""

from tests.e2e.test_load_export import SIMPLE, TransferTest


class CsvTest(TransferTest):
    def test_csv_has_the_time_as_the_stream_takes_it(self):
        for unit, factor in (("s", 0.001), ("ms", 1), ("us", 1000), ("ns", 1_000_000)):
            for time in "ts", "at":
                with self.subTest(unit=unit, time=time):
                    config = (f'[streams.load]\nunit = "{unit}"\ntime = "{time}"\n' +
                              SIMPLE.replace("{ts:ms}", f"{{{time}:us}}"))
                    first, second = self.start(config), self.start(config)
                    some = [{time: int(1_500_000_000_000 * factor) + at, "machine": f"m{at}",
                             "text": 'a,"b"\r\nc', "v": at} for at in range(9)]
                    if time != "ts":
                        some[3]["ts"] = 7
                    first.write("load", some)
                    self.run_tool("export", "load", first, "--output", "out.csv")
                    header = (self.folder / "out.csv").read_text().split(",")[0]
                    self.assertEqual(time, header)
                    self.run_tool("load", "load", second, "out.csv")
                    self.assertEqual(first.rows("HISTORY"), second.rows("HISTORY"))
