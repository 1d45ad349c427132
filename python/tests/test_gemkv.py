# SPDX-License-Identifier: BSD-2-Clause
"""Questions to a model: $GEMKV_MODEL, which tests/python.sh makes, or the bundled one."""

import contextlib
import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import gemkv
from gemkv import Document, Library, Model, Passage, Progress
from gemkv._model import make_options

TEXT = "".join(f"Line {i}: the cat and the hat sat on mat number {i * i * 37 % 101}.\n" for i in range(1, 13))
TEXT += "\fThe pass key is 48213 and the génie is in the bottle.\n"
QUESTION = "What is the pass key?"
PROGRAM = os.environ.get("GEMKV")
HERE = Path(__file__).parent


def ask(document: Document, question: str = QUESTION, **more: object) -> gemkv.Answer:
    return document.ask(question, **{"keep": 96, "max_tokens": 8, "threads": 1, "device": "cpu", **more})  # type: ignore[arg-type]


def inside(data: bytes, byte: int) -> int:
    """1 between the two bytes of the one character that is not ASCII."""
    return int(byte < len(data) and data[byte] & 0xC0 == 0x80)


class Case(unittest.TestCase):
    document: Document

    @classmethod
    def setUpClass(cls) -> None:
        cls.document = Document.from_text(TEXT, "text")

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check_passages(self, document: Document, passages: list[Passage]) -> None:
        self.assertTrue(passages)
        for p in passages:
            text = document.texts[p.index]
            self.assertEqual(p.text, text[p.start : p.end])
            self.assertEqual(p.text.encode(), text.encode()[slice(*p.bytes)])
            self.assertEqual(p.document, document.names[p.index])
            pages = text.split("\f")
            self.assertEqual(p.page is None, len(pages) == 1)
            first = re.split(r"[\n\f]", p.text.strip())[0]
            self.assertIn(first, pages[(p.page or 1) - 1].split("\n")[p.lines[0] - 1])



class TwoModels(Case):
    def test_answerer(self) -> None:
        """the document's model reads, another answers"""
        other = Model(os.environ.get("GEMKV_ANSWERER", gemkv.default_model().path))
        answer = ask(self.document, answerer=other)
        self.assertEqual(answer.stats.snap, "word")
        self.assertTrue(answer.stats.reader)
        self.assertTrue(answer.stats.predicted_reader and answer.stats.predicted_answerer)
        self.check_passages(self.document, answer.passages)
        self.assertEqual(ask(self.document, answerer=other).text, answer.text)
        self.assertIsNone(ask(self.document).stats.reader)
        self.assertTrue(self.document.select(QUESTION, answerer=other, keep=96, threads=1))

    def test_closed(self) -> None:
        """a model that answers stays until its session ends"""
        other = Model(gemkv.default_model().path)
        stream = self.document.stream(QUESTION, answerer=other, keep=96, max_tokens=4, threads=1, device="cpu")
        other.close()
        self.assertTrue(stream.read().stats.reader)
        with self.assertRaises(gemkv.InvalidError):
            ask(self.document, answerer=other, keep=97)


class Asking(Case):
    def test_answer(self) -> None:
        """an answer has text, passages, and what it cost"""
        a = ask(self.document)
        self.assertEqual(str(a), a.text)
        self.assertEqual((a.question, a.stats.method), (QUESTION, "gemfilter"))
        self.assertEqual(a.cut, a.stats.finish == "length")
        self.assertEqual(a.stats.tokens_kept, 96)
        self.assertGreater(a.stats.tokens_document, 100)
        self.check_passages(self.document, a.passages)
        self.check_passages(self.document, a.kept)
        self.assertEqual([p.score for p in a.passages], sorted((p.score for p in a.passages), reverse=True))
        self.assertEqual([p.start for p in a.kept], sorted(p.start for p in a.kept))
        # All of it can be one passage, which begins on the first page.
        self.assertTrue(any(p.page == 2 or "\f" in p.text for p in ask(self.document, keep=300).kept))

    @unittest.skipUnless(PROGRAM, "no $GEMKV, the program")
    def test_as_the_program(self) -> None:
        """answer, passages and numbers are those of gemkv ask --json"""
        (self.folder / "text").write_text(TEXT)
        base = [str(PROGRAM), "ask", "--json", "--device", "cpu", "-t", "1", "-k", "96", "-n", "8", "-f", "text"]
        for argv, options in (
            ([], {}),
            (["--method", "gemfilter:pool=max"], {"method": "gemfilter:pool=max"}),
            (["--temperature", "1.5", "--seed", "7", "--top-p", "0.9"], {"temperature": 1.5, "seed": 7, "top_p": 0.9}),
            (["--layer", "2", "--keep-last", "3", "--keep-first", "1"], {"layer": 2, "keep_last": 3, "keep_first": 1}),
            (["--schedule", "stream"], {"schedule": "stream"}),
        ):
            with self.subTest(options=options):
                run = subprocess.run([*base, *argv, QUESTION], cwd=self.folder, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                want = json.loads(run.stdout)
                have = ask(self.document, **options)
                self.assertEqual(have.text, want["answer"])
                self.assertEqual(have.stats.layer, want["layer"])
                self.assertEqual(have.stats.tokens_prompt, want["tokens"]["prompt"])
                self.assertEqual(have.stats.memory_kv, want["memory"]["kv"])
                kept = [(*p.bytes, round(p.score, 3)) for p in have.kept]
                data = TEXT.encode()
                self.assertEqual(kept, [
                    (k["start"] - inside(data, k["start"]), k["end"] + inside(data, k["end"]), round(k["score"], 3))
                    for k in want["kept"]
                ])

    def test_stream(self) -> None:
        """pieces together are the answer; passages are there before the first one"""
        whole = ask(self.document)
        with self.document.stream(QUESTION, keep=96, max_tokens=8, threads=1, device="cpu") as stream:
            self.assertEqual(stream.passages, whole.passages)
            first = next(stream)
            self.assertEqual(stream.text, first)
            self.assertEqual(stream.stats.finish, "")
            pieces = [first, *stream]
        self.assertEqual("".join(pieces), whole.text)
        self.assertEqual(stream.stats.finish, whole.stats.finish)
        self.assertEqual(list(stream), [])

    def test_stream_left(self) -> None:
        """a stream that is left early gives its session back; another question meanwhile has its own"""
        stream = self.document.stream(QUESTION, keep=96, max_tokens=8, threads=1, device="cpu")
        next(stream)
        ask(self.document, "Where is the cat?")
        stream.close()
        self.assertEqual(stream.stats.tokens_answer, 1)
        self.assertEqual(ask(self.document).text, ask(Document.from_text(TEXT, "text")).text)

    def test_select(self) -> None:
        """select has the passages of an answer"""
        found = self.document.select(QUESTION, keep=96, threads=1)
        self.assertEqual(found, ask(self.document).passages)

    def test_turns(self) -> None:
        """a question sees the turns that it is given, and the next one does not"""
        alone = ask(self.document, keep=150)
        after = ask(self.document, keep=150, turns=[("Who?", "The cat."), ("Where?", "On the mat.")])
        self.assertGreater(after.stats.tokens_prompt, alone.stats.tokens_prompt + 10)
        self.assertEqual(ask(self.document, keep=150).stats.tokens_prompt, alone.stats.tokens_prompt)

    def test_several(self) -> None:
        """passages name the file that they are in, also after empty ones"""
        texts = {"a": "", "b": "The cat sat on the mat.", "c": "", "d": "The pass key is 7.\fYes."}
        document = Document.from_texts(texts)
        self.assertEqual(document.texts, tuple(texts.values()))
        found = ask(document, method="full").passages
        self.check_passages(document, found)
        self.assertEqual({p.document for p in found}, {"b", "d"})
        self.assertEqual(Document.from_texts(["x", "y"]).names, ("text 1", "text 2"))

    def test_threads(self) -> None:
        """threads ask one document at the same time, and get the same answer"""
        want = ask(self.document)
        got: list[gemkv.Answer] = []
        threads = [threading.Thread(target=lambda: got.append(ask(self.document))) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([(a.text, a.kept) for a in got], [(want.text, want.kept)] * 4)

    def test_reuse(self) -> None:
        """questions with the same options share a session, others do not"""
        document = Document.from_text(TEXT)
        opened = []
        real = getattr(gemkv._document, "call")  # noqa: B009

        def spy(name: str, *args: object, **more: object) -> bool:
            opened.append(name)
            return bool(real(name, *args, **more))

        with mock.patch("gemkv._document.call", spy):
            ask(document)
            ask(document, "Where is the cat?")
            self.assertEqual(opened.count("gkv_session_of"), 1)
            self.assertEqual(ask(document, keep=80).stats.tokens_kept, 80)
            self.assertEqual(opened.count("gkv_session_of"), 2)


class Stopping(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.document = Document.from_text("".join(f"Line {i}: the cat sat on mat {i * i}.\n" for i in range(400)))

    def test_progress(self) -> None:
        """progress is reported, from 0 to 1 in each stage"""
        seen: list[Progress] = []
        ask(Document.from_text(TEXT), progress=seen.append)
        self.assertEqual(seen[0].stage, "first pass")
        self.assertIn("second pass", [p.stage for p in seen])
        self.assertGreater(seen[0].tokens, 100)
        self.assertTrue(all(0 <= p.fraction <= 1.001 for p in seen), seen)

    def test_exception(self) -> None:
        """an exception in progress cancels the question, comes out, and does not harm the next one"""
        class Enough(Exception):
            pass

        seen = []

        def stop(p: Progress) -> None:
            seen.append(p)
            raise Enough

        with self.assertRaises(Enough):
            ask(self.document, progress=stop)
        self.assertLess(seen[-1].fraction, 0.9)
        self.assertEqual(len(seen), 1)
        short = Document.from_text(TEXT)
        with self.assertRaises(Enough):
            ask(short, progress=stop)
        self.assertEqual(ask(short).text, ask(Document.from_text(TEXT)).text)

    def test_interrupt(self) -> None:
        """Ctrl-C while the library computes raises KeyboardInterrupt, with nothing else printed"""
        program = (
            "import os, signal, sys, threading\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "from test_gemkv import *\n"
            "Stopping.setUpClass()\n"
            "go, seen = threading.Event(), []\n"
            "def progress(p): seen.append(p); go.set()\n"
            "def interrupt(): go.wait(); os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt, daemon=True).start()\n"
            "try: ask(Stopping.document, progress=progress)\n"
            "except KeyboardInterrupt: print('interrupted', seen[-1].stage, seen[-1].fraction < 0.9)\n"
        )
        for _ in range(3):
            run = subprocess.run([sys.executable, "-c", program, str(HERE)], capture_output=True, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None)
            self.assertEqual((run.stdout, run.stderr, run.returncode), ("interrupted first pass True\n", "", 0))

    def test_alive(self) -> None:
        """what the library calls back and reads lives as long as the session"""
        program = (
            "import gc, sys\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "from test_gemkv import *\n"
            "d = Document.from_text(TEXT, system=None)\n"
            "s = d.stream(QUESTION, begin='The key' + 'x' * 5, method='gemfilter:' + 'pool=max', keep=96)\n"
            "gc.collect(); rubbish = [bytes(64) + bytes([i % 256]) for i in range(100000)]\n"
            "first = s.read(); seen = []\n"
            "for i in range(3):\n"
            "    gc.collect(); a = ask(d, begin='The key' + 'x' * 5, progress=seen.append)\n"
            "print(len(seen) > 3, ask(Document.from_text(TEXT), begin='The keyxxxxx').text == a.text)\n"
        )
        run = subprocess.run([sys.executable, "-X", "dev", "-W", "ignore", "-c", program, str(HERE)],
                             capture_output=True, text=True)
        self.assertEqual((run.stdout, run.stderr, run.returncode), ("True True\n", "", 0))


class Closing(Case):
    def test_order(self) -> None:
        """models close after their documents, and documents after their answers"""
        closed: list[str] = []
        real = {name: getattr(gemkv._c.lib, name) for name in
                ("gkv_model_close", "gkv_document_close", "gkv_session_close")}

        class Spy:
            def __getattr__(self, name: str) -> object:
                if name not in real:
                    return getattr(gemkv._c.lib, name)
                return lambda p: (closed.append(name), real[name](p))  # type: ignore[func-returns-value]

        with mock.patch("gemkv._model.lib", Spy()), mock.patch("gemkv._document.lib", Spy()):
            model = Model()
            document = Document.from_text(TEXT, model=model)
            stream = document.stream(QUESTION, keep=96, max_tokens=2)
            model.close()
            document.close()
            with self.assertRaisesRegex(gemkv.InvalidError, "the document is closed"):
                ask(document)
            with self.assertRaisesRegex(gemkv.InvalidError, "the model is closed"):
                Document.from_text(TEXT, model=model)
            self.assertEqual(closed, [])
            self.assertTrue(stream.read().text is not None)
            self.assertEqual(closed, ["gkv_session_close", "gkv_document_close", "gkv_model_close"])
            self.assertIn("closed", repr(document) + repr(model))
            model.close()
            del closed[:]
            # In a cycle Python may finalize the model first.
            model = Model()
            document = Document.from_text(TEXT, model=model)
            ask(document)
            model.loop, document.loop = document, model  # type: ignore[attr-defined]
            del model, document
            gc.collect()
            self.assertEqual(closed, ["gkv_session_close", "gkv_document_close", "gkv_model_close"])

    def test_with(self) -> None:
        """with blocks close"""
        with Model() as model, Document.from_text("a", model=model) as document:
            self.assertEqual(ask(document, keep=200).stats.tokens_document, 1)
        self.assertTrue(model._handle.dropped and document._handle.dropped)


class Failing(Case):
    def test_errors(self) -> None:
        """each kind of error is an exception of its own, with the library's line"""
        for kind, text, act in (
            (gemkv.FileError, "nothing.gguf", lambda: Model(self.folder / "nothing.gguf")),
            (gemkv.FormatError, "", lambda: Model(self.broken())),
            (gemkv.InvalidError, "no method", lambda: ask(self.document, method="nonsense")),
            (gemkv.InvalidError, "empty", lambda: ask(self.document, " \n")),
            (gemkv.InvalidError, "NUL", lambda: ask(self.document, "a\0b")),
            (gemkv.InvalidError, "keep: -1 is out of range", lambda: ask(self.document, keep=-1)),
            (gemkv.InvalidError, "layer: 99 is out of range", lambda: Model(layer=99)),
            (gemkv.LimitError, "max_context", lambda: Document.from_text(TEXT, max_context=9).ask(QUESTION)),
            (gemkv.LimitError, "memory_limit", lambda: ask(self.document, memory_limit=1)),
            (gemkv.DocumentError, "x: .*NUL", lambda: Document.from_text("a\0b", "x")),
            (gemkv.DocumentError, "x: there is no text", lambda: Document.from_text(" \n", "x")),
            (gemkv.DocumentError, "empty", lambda: Document.from_texts([])),
            (gemkv.DocumentError, "x: not Unicode", lambda: Document.from_text("\ud800", "x")),
            (gemkv.DocumentError, "latin: .*not UTF-8", lambda: Document.open(self.latin())),
            (TypeError, "no option 'speed'", lambda: ask(self.document, speed=3)),
            (TypeError, "keep: '3'", lambda: ask(self.document, keep="3")),
        ):
            with self.subTest(kind=kind, text=text), self.assertRaisesRegex(kind, text):
                act()
        self.assertEqual(ask(self.document).stats.tokens_kept, 96)
        for think, number in ((True, -1), (False, 0), (5, 5)):
            self.assertEqual(make_options({"think": think}, frozenset(["think"])).think, number)
        self.assertTrue(issubclass(gemkv.FileError, OSError) and issubclass(gemkv.OutOfMemoryError, MemoryError))

    def broken(self) -> Path:
        path = self.folder / "broken.gguf"
        path.write_bytes(b"GGUF" + b"\3\0\0\0" + b"\xff" * 50)
        return path

    def latin(self) -> Path:
        path = self.folder / "latin"
        path.write_bytes("Fuß".encode("latin-1"))
        return path


class Models(Case):
    def test_info(self) -> None:
        """a model says what it is; tables have their parameters"""
        model = Model()
        self.assertEqual(model.info.n_embd % model.info.n_head, 0)
        self.assertTrue(0 < model.info.filter_layer < model.info.n_layer)
        self.assertEqual(Model(layer=2).info.filter_layer, 2)
        self.assertEqual(Model(layer=2).info.tsp_layer, model.info.tsp_layer)
        self.assertIn("gemfilter", [m.name for m in gemkv.methods()])
        self.assertIn(("kernel", "5"), [(p.name, p.value) for m in gemkv.methods() for p in m.parameters])
        self.assertIn(("layer", True), [(s.name, s.exact) for s in gemkv.schedules()])

    def test_tokens(self) -> None:
        """text becomes tokens and text again"""
        model = Model()
        for text in ("", "The génie 😀"):
            self.assertEqual(model.detokenize(model.tokenize(text)), text)
        self.assertGreater(len(model.tokenize("a cat")), 1)

    def test_calibration(self) -> None:
        """layers that gemkv calibrate found are taken, others are not"""
        model = Model()
        number = gemkv._c.lib.gkv_model_fingerprint(model._handle.pointer)
        with mock.patch.dict(os.environ, {"XDG_DATA_HOME": str(self.folder)}):
            path = self.folder / "gemkv" / f"{number:016x}.json"
            path.parent.mkdir()
            plain = Model().info.filter_layer
            for text, layer in (("2", 2), ("999", plain), ("[", plain), ('"x"', plain)):
                path.write_text(f'{{"layer": {text}, "tsp_layer": 1}}')
                self.assertEqual(Model().info.filter_layer, layer)
            path.write_text('{"layer": 2, "tsp_layer": 1}')
            self.assertEqual(Model().info.filter_layer_source, "calibration")

    def test_default(self) -> None:
        """documents share a default model; one that was closed is opened again"""
        model = gemkv.default_model()
        self.assertIs(model, gemkv.default_model())
        model.close()
        self.assertIsNot(model, gemkv.default_model())


class Libraries(Case):
    def setUp(self) -> None:
        super().setUp()
        self.a = self.folder / "a.txt"
        self.a.write_text(TEXT)
        os.utime(self.a, (1, 1))
        try:
            self.library = Library(self.folder / "library", "c")
        except gemkv.UnsupportedError:
            self.skipTest("built without SQLite")
        self.addCleanup(self.library.close)

    def test_add(self) -> None:
        """files are read once; changed ones again; texts can be put and removed"""
        first = self.library.add(self.a, grade="exact")
        self.assertEqual((first.name, first.path, first.pages), (str(self.a), os.path.realpath(self.a), 2))
        self.assertEqual((first.bytes, first.grade), (len(TEXT.encode()), "exact"))
        with mock.patch("gemkv._library.Document.open", side_effect=AssertionError("it is read again")):
            self.assertEqual(self.library.add(self.a), first)
        os.utime(self.a, (2, 2))
        self.assertEqual(self.library.add(self.a).id, first.id)
        self.assertGreater(self.library.add(self.a, again=True).id, first.id)
        self.a.write_text("Something else.")
        self.assertLess(self.library.add(self.a).bytes, first.bytes)
        self.library.put("note", "The key is under the mat.", grade="exact")
        self.assertEqual([(e.name, e.grade) for e in self.library], [(str(self.a), "exact"), ("note", "exact")])
        self.assertIn("note", self.library)
        self.library.remove("note")
        self.assertNotIn("note", self.library)
        with self.assertRaisesRegex(gemkv.NotFoundError, "note"):
            self.library.remove("note")
        with self.assertRaises(gemkv.NotFoundError):
            self.library.load("note")

    def test_ask(self) -> None:
        """a library is asked as the program asks it; the words choose the documents"""
        self.library.add(self.a, grade="exact")
        self.library.put("b", "Bears eat berries.", grade="exact")
        self.library.put("c", "The dog sleeps.", grade="exact")
        self.assertEqual([e.name for e in self.library.entries("Which berries?")], ["b"])
        self.assertEqual([e.name for e in self.library.entries(among="[bc]")], ["b", "c"])
        self.assertEqual(self.library.document("berries dog", top=2).names, ("b", "c"))
        with self.assertRaisesRegex(gemkv.DocumentError, "like 'x'"):
            self.library.ask(QUESTION, among="x")
        options = {"keep": 96, "max_tokens": 8, "threads": 1, "device": "cpu"}
        answer = self.library.ask(QUESTION, **options)  # type: ignore[arg-type]
        self.check_passages(self.library.document(QUESTION), answer.passages)
        self.assertEqual("".join(self.library.stream(QUESTION, **options)), answer.text)  # type: ignore[arg-type]
        self.library.close()
        with Library(self.folder / "library") as library:
            self.assertEqual(library.ask(QUESTION, **options).text, answer.text)  # type: ignore[arg-type]
            with self.assertRaises(gemkv.Error):
                library.put("d", "no")
        if PROGRAM:
            run = subprocess.run([str(PROGRAM), "ask", "--json", "-L", str(self.folder / "library"), "--device", "cpu",
                                  "-t", "1", "-k", "96", "-n", "8", QUESTION], capture_output=True, text=True)
            self.assertEqual(json.loads(run.stdout)["answer"], answer.text)

    def test_interrupted(self) -> None:
        """an exception in progress comes out when the document is finished"""
        def stop(p: Progress) -> None:
            raise KeyError(p.stage)

        with self.assertRaises(KeyError):
            self.library.put("long", TEXT * 6, grade="exact", progress=stop)
        self.assertEqual(len(self.library), 1)


class Readme(Case):
    def test_readme(self) -> None:
        """the first example of the README runs"""
        readme = HERE.parent / "README.md"
        if not readme.exists():
            self.skipTest("no README.md")
        code = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)[0]
        self.assertIn('"report.txt"', code)
        (self.folder / "report.txt").write_text(TEXT)
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), {})
        self.assertIn("report.txt", out.getvalue())


if __name__ == "__main__":
    unittest.main()
