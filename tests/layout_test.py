"""Checks what a reader relies on without looking: the folder order, file and function sizes, line lengths.

    python3 tests/layout_test.py
"""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["config", "storage", "ingest", "service", "api", "tools", "daemon"]
FILE_LINES = 600
FUNCTION_LINES = 70
COLUMNS = 100
ROOM_FILES = 30
MIRRORED = ["storage"]
MIRRORED_LINES = 60  # A longer source has a test file of its own.
THREADS_OF_ASIO = {"boost/asio/thread_pool.hpp", "boost/asio/post.hpp", "boost/asio/impl/src.hpp"}
LEVELDB_PAGES = {"log_format.md", "table_format.md"}  # The sources of its formats.
SEEDS = [f"S{number}" for number in range(1, 50)] + [f"L{number}" for number in range(1, 36)]
SCOPES = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")


def sources(*suffixes, folders=FOLDERS):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                yield path


def tracked_text():
    """The files that git knows or would add; all of them where there is no git."""
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True)
    names = listing.stdout.splitlines() if listing.returncode == 0 else []
    paths = [ROOT / name for name in names] or [p for p in ROOT.rglob("*") if "build" not in p.parts]
    return [p for p in paths if p.is_file()]


def headings(page):
    """What links to a page may have behind the #."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    names = [re.sub(r"[^\w\- ]", "", name.strip().lower()) for name in re.findall(r"^#+ (.*)$", text, re.M)]
    return {name.replace(" ", "-") for name in names}


def includes(path, of=r'"([^"]+)"'):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r"\s*#\s*include\s+" + of, line)
        if match:
            yield number, match.group(1)


def without_text(code):
    """The code with comments, strings and characters blanked; line numbers stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(
        r'R"([^()\s]*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
        blank, code, flags=re.S | re.M)


def functions(code):
    """Yields (first line, lines) of every function body outside of functions."""
    code = without_text(code)
    header, line, header_line, stack = "", 1, 1, []
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        if char == "{":
            inside = any(kind == "function" for kind, _ in stack)
            if SCOPES.search(header.strip()):
                kind = "scope"
            elif "(" in header and not inside:
                kind = "function"
            else:
                kind = "other"
            stack.append((kind, header_line))
            if kind != "other":
                header = ""
        elif char == "}" and stack:
            kind, first = stack.pop()
            nested = any(kind == "function" for kind, _ in stack)
            # A braced member initialiser, "a_{1}, b_{2} {", closes before its function opens.
            rest = code[at + 1:at + 80].lstrip()
            if kind == "function" and not nested and rest[:1] in (",", "{"):
                header = "("
                header_line = first
            elif kind == "function":
                yield first, line - first + 1
                header = ""
            elif kind == "scope":
                header = ""
        elif char == ";" or header.strip() in ("public", "private", "protected"):
            header = ""
        else:
            if not header.strip() and not char.isspace():
                header_line = line
            header += char


class LayoutTest(unittest.TestCase):
    def test_a_folder_includes_only_itself_and_those_to_its_left(self):
        for path in sources(".h", ".cc"):
            own = FOLDERS.index(path.relative_to(ROOT).parts[0])
            for number, target in includes(path):
                where = f"{path.relative_to(ROOT)}:{number}"
                folder = target.split("/")[0]
                self.assertIn(folder, FOLDERS, f'{where} includes "{target}", not from the root')
                self.assertLessEqual(FOLDERS.index(folder), own,
                                     f'{where} includes "{target}", which stands to its right')

    def test_how_the_store_keeps_things_is_its_own_affair(self):
        for path in sources(".h", ".cc", folders=["ingest", "service", "api"]):
            for number, target in includes(path):
                self.assertNotRegex(target, "^storage/((bigtable|blocks|bytes|leveldb)/|(bigtable|leveldb)_store)",
                                    f'{path.relative_to(ROOT)}:{number} includes "{target}"')

    def test_a_tool_knows_of_the_engine_what_is_offered_to_tools(self):
        for path in sources(".h", ".cc", folders=["tools"]):
            for number, target in includes(path):
                self.assertNotRegex(target, "^storage/(bigtable|blocks|bytes|leveldb/(?!tools/|env/))",
                                    f'{path.relative_to(ROOT)}:{number} includes "{target}"')

    def test_the_service_speaks_no_protocol(self):
        for path in sources(".h", ".cc", folders=["service"]):
            for number, target in includes(path, of="<([^>]+)>"):
                speaks = re.match(r"boost/(asio|beast|url)|nlohmann/|simdjson", target)
                if speaks and target not in THREADS_OF_ASIO:
                    self.fail(f"{path.relative_to(ROOT)}:{number} includes <{target}>")
            for number, target in includes(path):
                self.assertNotRegex(target, "^ingest/text/",
                                    f'{path.relative_to(ROOT)}:{number} includes "{target}"')

    def test_rows_go_to_the_store_through_the_writer_alone(self):
        past_it = re.compile(r"[Ss]tore\w*(?:\(\))?(?:\.|->)(Submit|CommitUnlessTouched|CommitBehindLine)\(")
        drawn_by = {"service/fill/fill_pass.cc": "CommitBehindLine"}  # A line, and no row.
        for path in sources(".h", ".cc", folders=["service", "api"]):
            name = str(path.relative_to(ROOT))
            if name.startswith("service/write/"):
                continue
            for call in past_it.findall(path.read_text()):
                self.assertEqual(call, drawn_by.get(name), f"{name} calls Store::{call}")

    def test_the_rooms_of_a_folder_have_no_circle(self):
        for folder in FOLDERS:
            rooms = {}
            for path in sources(".h", ".cc", folders=[folder]):
                room = rooms.setdefault(str(path.parent.relative_to(ROOT)), set())
                for _, target in includes(path):
                    if target.split("/")[0] == folder:
                        room.add(target.rsplit("/", 1)[0])
            for room, targets in rooms.items():
                targets.discard(room)
            left = dict(rooms)
            while left:
                free = [room for room, targets in left.items() if not targets & left.keys()]
                self.assertTrue(free, f"these rooms include each other in a circle: {sorted(left)}")
                for room in free:
                    del left[room]

    def test_no_room_is_crowded(self):
        for folder in FOLDERS:
            for room in {path.parent for path in sources(".h", ".cc", folders=[folder])}:
                files = [p for p in room.iterdir() if p.suffix in (".h", ".cc")]
                self.assertLessEqual(len(files), ROOM_FILES, room.relative_to(ROOT))

    def test_a_library_test_includes_nothing_to_the_right_of_its_folder(self):
        for own, folder in enumerate(FOLDERS):
            for path in sources(".h", ".cc", folders=[f"tests/{folder}"]):
                for number, target in includes(path):
                    right = target.split("/")[0] in FOLDERS[own + 1:]
                    where = f"{path.relative_to(ROOT)}:{number}"
                    self.assertFalse(right, f'{where} includes "{target}", which stands to its right')

    def test_every_long_source_has_its_mirror_test(self):
        for path in sources(".cc", folders=MIRRORED):
            if len(path.read_text().splitlines()) > MIRRORED_LINES:
                mirror = ROOT / "tests" / path.relative_to(ROOT).with_name(f"{path.stem}_test.cc")
                self.assertTrue(mirror.is_file(), f"{mirror.relative_to(ROOT)} is missing")

    def test_include_guards_are_the_path(self):
        for path in sources(".h"):
            name = re.sub(r"[^A-Z0-9]", "_", str(path.relative_to(ROOT)).upper())
            self.assertIn(f"#ifndef TALLYD_{name}_\n", path.read_text(), path.relative_to(ROOT))

    def test_every_page_that_is_named_is_in_the_tree(self):
        pages = {path.name for path in tracked_text() if path.suffix == ".md"} | LEVELDB_PAGES
        for path in tracked_text():
            if path.suffix in {".h", ".cc", ".cmake", ".proto", ".md", ".py", ".toml"}:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    for page in re.findall(r"\b([A-Za-z_]+\.md)\b", line):
                        self.assertIn(page, pages, f"{path.relative_to(ROOT)}:{number}")

    def test_every_link_leads_somewhere_and_every_page_is_reached_from_the_readme(self):
        seen, left = set(), [ROOT / "README.md"]
        while left:
            page = left.pop()
            if page in seen or page.suffix != ".md":
                continue
            seen.add(page)
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if target.startswith("http"):
                    continue
                path, _, anchor = target.partition("#")
                linked = (page.parent / path).resolve() if path else page
                where = f"{page.relative_to(ROOT)}: {target}"
                self.assertTrue(linked.exists(), where)
                if anchor:
                    self.assertIn(anchor, headings(linked), where)
                left.append(linked)
        self.assertLessEqual(set((ROOT / "docs").glob("*.md")), seen)

    def test_every_room_and_source_that_the_architecture_names_is_in_the_tree(self):
        page = (ROOT / "docs" / "architecture.md").read_text()
        named = re.findall(r"`((?:%s)/[\w/.]*)`" % "|".join(FOLDERS), page)
        self.assertGreater(len(named), 60)
        for name in named:
            path = ROOT / name
            there = path.exists() or list(path.parent.glob(f"{path.name}.*"))
            self.assertTrue(there, f"docs/architecture.md names {name}")

    def assert_cited_tests_exist(self, page, at_least):
        tests = {}
        for path in (ROOT / "tests").rglob("*"):
            if path.suffix in (".cc", ".py"):
                found = re.findall(r"^\s*(?:TEST\w*\(\w+,\s*|def )(\w+)", path.read_text(), re.M)
                tests.setdefault(path.name, set()).update(found)
        cited = re.findall(r"`(\w+\.(?:cc|py))`((?:,?\s+`\w+`)+)", page)
        self.assertGreater(len(cited), at_least)
        for name, subjects in cited:
            for subject in re.findall(r"`(\w+)`", subjects):
                now = sorted(other for other, found in tests.items() if subject in found)
                self.assertIn(subject, tests.get(name, ()), f"{name} has it not; these have: {now}")

    def test_every_test_that_a_guarantee_names_is_in_the_tree(self):
        self.assert_cited_tests_exist((ROOT / "docs" / "guarantees.md").read_text(), 30)

    def test_every_seed_has_its_row_and_its_test(self):
        page = (ROOT / "docs" / "seeds.md").read_text()
        rows = re.findall(r"^\| ([SL]\d+) \| (.*) \| (.*) \|$", page, re.M)
        names = [name for name, _, _ in rows]
        lint_test = (ROOT / "tests" / "config" / "lint" / "lint_test.cc").read_text()
        lint_cases = {f"L{number}" for number in re.findall(r"^ +\{(\d+),", lint_test, re.M)}
        self.assertEqual(SEEDS, names, "in order, none twice, none missing")
        for name, shown, where in rows:
            self.assertRegex(shown, r"^\S.*\.$", name)
            self.assertRegex(where, r"^(?:(?:^|, )`\w+\.(?:cc|py)`(?:,? `\w+`)+)+$", name)
            is_named = re.search(rf"`(?:test_)?{name[0]}{int(name[1:]):02}(?!\d)", where)
            self.assertTrue(is_named or name in lint_cases, f"{name}: no test has its number")
        self.assert_cited_tests_exist(page, len(SEEDS) - 1)

    def test_files_are_short(self):
        for path in sources(".h", ".cc"):
            lines = len(path.read_text().splitlines())
            self.assertLessEqual(lines, FILE_LINES, path.relative_to(ROOT))

    def test_functions_are_short(self):
        for path in sources(".h", ".cc"):
            for first, lines in functions(path.read_text()):
                self.assertLessEqual(lines, FUNCTION_LINES, f"{path.relative_to(ROOT)}:{first}")

    def test_lines_fit(self):
        for path in tracked_text():
            if path.suffix in {".h", ".cc", ".cmake", ".proto"} or path.name == "CMakeLists.txt":
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    self.assertLessEqual(len(line), COLUMNS, f"{path.relative_to(ROOT)}:{number}")

    def test_memory_is_fetched_in_the_one_way_that_compilers_keep(self):
        fetching = [str(path.relative_to(ROOT)) for path in sources(".h", ".cc")
                    if "__builtin_prefetch(" in path.read_text()]
        self.assertEqual(fetching, ["config/values/prefetch.h"])


class FunctionsTest(unittest.TestCase):
    """The measure itself."""

    def lengths(self, code):
        return [lines for _, lines in functions(code)]

    def test_counts_from_the_signature_to_the_brace(self):
        self.assertEqual(self.lengths("namespace n {\nint F(int a,\n      int b) {\n  return a;\n}\n}\n"), [4])

    def test_finds_methods_and_skips_initialisers(self):
        code = "class A : public B {\n public:\n  A() : a_{1}, b_{2} {\n    F();\n  }\n  int a_ = {1};\n};\n"
        self.assertEqual(self.lengths(code), [3])

    def test_blocks_and_lambdas_belong_to_their_function(self):
        code = "void F() {\n  if (x) {\n    G([&](int i) {\n      H();\n    });\n  }\n}\nvoid G() {}\n"
        self.assertEqual(self.lengths(code), [7, 1])

    def test_braces_in_text_do_not_count(self):
        self.assertEqual(self.lengths('void F() {\n  G("{", \'{\', R"({{{)"); // {\n}\n'), [3])


if __name__ == "__main__":
    unittest.main()
