"""The page at /ui/: its files, who gets them, and that it takes nothing from anywhere else."""

import re
import shutil
import subprocess
import unittest

from tests.e2e.tallyd import ANSWER_SECONDS, E2eTest, ROOT
from tests.e2e.test_secrets import entry, new_token
from tests.e2e.test_seeds_keys import table

TABLES = table("LOG", "{h}#{ts:ms}")
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
         "mjs": "text/javascript; charset=utf-8"}
# A name of SVG is written as an address, and asks nobody.
NAMESPACES = ("http://www.w3.org/",)


def named_by(name, text):
    """The files that a file of the page names."""
    if name.endswith(".html"):
        return re.findall(r'\b(?:src|href)="([^"#:]+)"', text)
    if name.endswith(".mjs"):
        return [target.removeprefix("./")
                for target in re.findall(r"""^(?:import|export)\b[^;]*?from '([^']+)'""", text, re.M)]
    return re.findall(r"url\(([^)]+)\)", text)


def imports_of(text):
    """(file, names) of each import of a module."""
    for names, target in re.findall(r"^import \{([^}]*)\} from '\./([^']+)'", text, re.M):
        yield target, [name.split(" as ")[0].strip() for name in names.split(",") if name.strip()]


class PageTest(E2eTest):
    def files(self, tallyd):
        """Every file that is reached from the page, by name."""
        found, left = {}, [""]
        while left:
            name = left.pop()
            if name in found:
                continue
            answer = tallyd.get(f"/ui/{name}").expect(200)
            kind = name.rpartition(".")[2] or "html"
            self.assertEqual(TYPES[kind], answer.header("Content-Type"), name)
            found[name] = answer.body.decode("utf-8")
            left += named_by(name or "index.html", found[name])
        return found

    def test_everything_that_the_page_names_is_there_and_nothing_else_is_shipped(self):
        files = self.files(self.start(TABLES))
        shipped = {path.name for path in (ROOT / "api" / "ui").iterdir() if path.suffix[1:] in TYPES}
        self.assertEqual(shipped, set(files) - {""} | {"index.html"})
        for name, text in files.items():
            if name:
                self.assertEqual((ROOT / "api" / "ui" / name).read_text(encoding="utf-8"), text)

    def test_no_file_names_another_host(self):
        for name, text in self.files(self.start(TABLES)).items():
            for address in re.findall(r"""(?:\w+:)?//[\w.-]+\.\w+[^\s'"`]*""", text):
                self.assertTrue(address.startswith(NAMESPACES), f"{name}: {address}")

    def test_each_name_that_a_module_takes_is_given_by_the_other(self):
        files = self.files(self.start(TABLES))
        taken = 0
        for name, text in files.items():
            for target, names in imports_of(text):
                for one in names:
                    given = rf"^export (?:async )?(?:function|class|const) {one}\b"
                    self.assertRegex(files[target], re.compile(given, re.M), f"{name}: {one}")
                    taken += 1
        self.assertGreater(taken, 20)

    def test_what_comes_from_outside_never_becomes_markup_nor_script(self):
        for name, text in self.files(self.start(TABLES)).items():
            for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                              "eval(", "new Function", "setAttribute('style'", "cssText"):
                self.assertNotIn(forbidden, text, name)
            if name in ("", "index.html"):
                self.assertNotRegex(text, r"<style|\sstyle=|\son\w+=|<script>|javascript:")

    def test_the_page_needs_no_token_and_all_that_it_asks_does(self):
        token = new_token()
        tallyd = self.start(TABLES + entry("all", token))
        for name in self.files(tallyd):
            tallyd.get(f"/ui/{name}").expect(200)
        for path in ("/v1/streams", "/v1/tables", "/v1/lint", "/v1/status",
                     "/v1/streams/log/events", "/v1/heatmap?table=LOG", "/ui/a/b"):
            tallyd.get(path).problem(401)
        tallyd.get("/v1/streams", None, {"Authorization": f"Bearer {token}"}).expect(200)
        tallyd.request("POST", "/ui/").problem(401)

    def test_the_path_without_its_slash_leads_there(self):
        tallyd = self.start(TABLES)
        answer = tallyd.get("/ui").expect(308)
        self.assertEqual("ui/", answer.header("Location"))
        self.assertIn("main.mjs", tallyd.get("/ui/none.js").problem(404)["detail"])

    def test_head_tells_the_same_without_the_file(self):
        tallyd = self.start(TABLES)
        whole, head = tallyd.get("/ui/"), tallyd.request("HEAD", "/ui/").expect(200)
        self.assertEqual(b"", head.body)
        for name in ("Content-Type", "Content-Length", "Content-Security-Policy"):
            self.assertEqual(whole.header(name), head.header(name))

    def test_every_answer_below_it_has_the_policy(self):
        tallyd = self.start(TABLES)
        for method, path, status in (("GET", "/ui/", 200), ("GET", "/ui/main.mjs", 200),
                                     ("GET", "/ui", 308), ("GET", "/ui/none", 404),
                                     ("POST", "/ui/", 405), ("DELETE", "/ui/main.mjs", 405),
                                     ("GET", "/ui/?%zz", 400), ("GET", "/ui/%zz", 400)):
            answer = tallyd.request(method, path).expect(status)
            with self.subTest(f"{method} {path}"):
                policy = dict(part.strip().split(" ", 1)
                              for part in answer.header("Content-Security-Policy").split(";"))
                self.assertEqual({"default-src": "'none'", "script-src": "'self'",
                                  "style-src": "'self'", "connect-src": "'self'",
                                  "img-src": "'self' data:", "base-uri": "'none'",
                                  "form-action": "'none'", "frame-ancestors": "'none'",
                                  "require-trusted-types-for": "'script'",
                                  "trusted-types": "'none'"}, policy)
                self.assertEqual("no-referrer", answer.header("Referrer-Policy"))
                self.assertEqual("nosniff", answer.header("X-Content-Type-Options"))
                self.assertEqual("no-store", answer.header("Cache-Control"))

    def test_a_host_that_is_not_the_daemons_gets_no_page(self):
        self.start(TABLES).request("GET", "/ui/", None, {"Host": "evil.example"}).problem(403)


@unittest.skipUnless(shutil.which("node"), "node is not installed: the page's modules were not run")
class ModulesTest(unittest.TestCase):
    def test_the_modules_do_what_their_tests_say(self):
        tests = sorted(map(str, (ROOT / "tests" / "ui").glob("*.test.mjs")))
        self.assertTrue(tests)
        done = subprocess.run(["node", "--test", *tests], cwd=ROOT, timeout=ANSWER_SECONDS * 5,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(0, done.returncode, done.stdout.decode("utf-8", "replace"))


if __name__ == "__main__":
    unittest.main()
