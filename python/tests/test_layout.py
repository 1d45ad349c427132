# SPDX-License-Identifier: BSD-2-Clause
"""The module and the header: structs, enums, functions, version."""

import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import fields
from pathlib import Path

import gemkv
from gemkv import _c, _errors

HEADER = Path(os.environ.get("GEMKV_HEADER", Path(__file__).parents[2] / "include" / "gemkv.h"))
CC = shlex.split(os.environ.get("CC", "cc"))


def header() -> str:
    """The header without its comments."""
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)


def names_of(struct: str) -> list[str]:
    """Names of a struct's members, in order."""
    body = re.search(rf"typedef struct \{{([^{{}}]*)\}} {struct};", header())
    assert body, f"no {struct} in {HEADER}"
    found: list[str] = []
    for declaration in body[1].split(";")[:-1]:
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        found += [pointer[1]] if pointer else re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", declaration.strip())
    return found


@unittest.skipUnless(HEADER.exists(), f"no {HEADER}")
class Header(unittest.TestCase):
    def test_names(self) -> None:
        """structs have the members of gemkv.h, in its order (else: add them to python/gemkv/_c.py)"""
        for struct in _c.STRUCTS:
            with self.subTest(struct=struct.__name__):
                self.assertEqual([f[0] for f in struct._fields_], names_of(struct.__name__))

    def test_offsets(self) -> None:
        """sizes and offsets are those that a C compiler gives"""
        if not shutil.which(CC[0]):
            self.skipTest(f"no compiler {CC[0]}")
        lines = []
        for struct in _c.STRUCTS:
            name = struct.__name__
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for f, *_ in struct._fields_:
                lines.append(f'printf("{name}.{f} %zu %zu\\n", offsetof({name}, {f}), sizeof((({name} *)0)->{f}));')
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "layout.c")
            source.write_text("#include <gemkv.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "}\n")
            program = Path(folder, "layout")
            subprocess.run([*CC, f"-I{HEADER.parent}", "-o", program, source], check=True)
            want = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
        have = []
        for struct in _c.STRUCTS:
            have.append(f"{struct.__name__} {ctypes.sizeof(struct)}")
            for f, *_ in struct._fields_:
                field = getattr(struct, f)
                have.append(f"{struct.__name__}.{f} {field.offset} {field.size}")
        self.assertEqual(have, want)

    def test_status(self) -> None:
        """each gkv_status has its number and an exception of its own"""
        body = re.search(r"typedef enum \{([^{}]*GKV_OK = 0[^{}]*)\} gkv_status;", header())
        assert body
        names = re.findall(r"GKV_(\w+)", body[1])
        self.assertEqual([s.name for s in gemkv.Status], names)
        self.assertEqual([int(s) for s in gemkv.Status], list(range(len(names))))
        self.assertEqual(set(_errors.EXCEPTIONS), set(gemkv.Status) - {gemkv.Status.OK})
        self.assertEqual(len(set(_errors.EXCEPTIONS.values())), len(_errors.EXCEPTIONS))

    def test_functions(self) -> None:
        """functions take as many arguments as gemkv.h says, pointers where it has pointers"""
        for name, (result, arguments) in _c.FUNCTIONS.items():
            with self.subTest(function=name):
                found = re.search(rf"GKV_API ([^;]*?[ *]){name}\(([^;]*)\);", header())
                assert found, f"no {name}"
                want = [] if found[2].strip() == "void" else found[2].split(",")
                self.assertEqual(len(arguments), len(want))
                pointers = (ctypes.c_char_p, ctypes.c_void_p)
                for have, text in zip(arguments, want, strict=True):
                    is_pointer = have in pointers or issubclass(have, ctypes._Pointer)
                    self.assertEqual(is_pointer, "*" in text, text)
                    sizes = {"size_t": 8, "uint64_t": 8, "uint32_t": 4, "int32_t": 4, "unsigned": 4}
                    for word, size in sizes.items():
                        if not is_pointer and word in text.split():
                            self.assertEqual(ctypes.sizeof(have) // (ctypes.sizeof(ctypes.c_size_t) // 8 or 1), size)
                returned = found[1].strip()
                self.assertEqual(result is None, returned == "void")
                self.assertEqual(result in pointers or result not in (None, ctypes.c_int, ctypes.c_uint64),
                                 "*" in returned, returned)

    def test_version(self) -> None:
        """the versions of module, library and header agree"""
        number = re.findall(r"#define GKV_VERSION_\w+ (\d+)", HEADER.read_text())
        self.assertEqual(gemkv.__version__, ".".join(number))
        self.assertEqual(gemkv.version(), gemkv.__version__)
        self.assertEqual(_c.HEADER, tuple(map(int, number[:2])))


class Loading(unittest.TestCase):
    def test_check_version(self) -> None:
        """an older library, or one of another major version, is refused with both numbers"""
        _c.check_version("0.2.0", "x")
        _c.check_version("0.7.2", "x")
        for version in ("0.1.9", "1.0.0", "nonsense"):
            with self.assertRaisesRegex(ImportError, f"/x.so is libgemkv {version}, .*0.2"):
                _c.check_version(version, "/x.so")

    def test_messages(self) -> None:
        """a library that is not there, or is another one, is an ImportError that says what to do"""
        for name, text in (("/nowhere/libgemkv.so", "set GEMKV_LIBRARY"), ("libc.so.6", "no libgemkv, or too old")):
            old = os.environ.get("GEMKV_LIBRARY")
            os.environ["GEMKV_LIBRARY"] = name
            try:
                with self.assertRaisesRegex(ImportError, text):
                    _c.load()
            finally:
                if old is None:
                    del os.environ["GEMKV_LIBRARY"]
                else:
                    os.environ["GEMKV_LIBRARY"] = old

    def test_dataclasses(self) -> None:
        """Stats has all that gkv_stats has, and the options all of gkv_options"""
        self.assertEqual([f.name for f in fields(gemkv.Stats)], [f[0] for f in _c.gkv_stats._fields_])
        ours = {"size", "progress", "progress_arg", "note", "note_arg", "stop", "n_stop", "grammar", "reader",
                "reading",      # for measuring
                "group"}        # for programs that MPI starts
        options = gemkv.QuestionOptions.__annotations__ | gemkv.DocumentOptions.__annotations__
        self.assertEqual(set(options), {f[0] for f in _c.gkv_options._fields_} - ours)

    def test_errors(self) -> None:
        """messages name keywords, not options of the command line"""
        e = _errors.error(3, "the limit is 5; raise --memory, or lower --keep-first")
        self.assertIsInstance(e, gemkv.LimitError)
        self.assertEqual(str(e), "the limit is 5; raise memory_limit, or lower keep_first")
        self.assertEqual(str(gemkv.NotFoundError("a b")), "a b")
        self.assertIsInstance(_errors.error(99, ""), gemkv.Error)


if __name__ == "__main__":
    unittest.main()
