#!/usr/bin/env python3
"""Checks that the house stands: who includes whom, and what every room must have.

Usage: check-layers.py [ROOT]        ROOT: the repository, by default the one this file lies in.
Exit:  0 all well; 1 with one line per complaint, `file:line: what is wrong`.

Rules
  - A file under lib/, daemon/ or testing/ includes its own room and rooms of strictly lower level (lib/LAYERS).
  - lib/io is included by io, daemon, testing and *_test.cpp only.
  - A *_test.cpp may also include testing/.
  - A CMakeLists.txt of lib/ names only dependencies that its room may include.
  - Every room has a README.md of at most 40 lines.
  - No file carries a note about unfinished work.
"""
import pathlib
import re
import sys

SOURCES = {".h", ".cpp", ".hpp", ".cc", ".c"}
TEXTS = SOURCES | {".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml", ".service", ".conf", ""}
SKIPPED = {".git", "build", "dist", "__pycache__", "corpus"}
README_LINES = 40
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
DEPENDENCIES = re.compile(r"weft_room\(\s*(\w+)((?:[^()]|\([^()]*\))*)\)")
UNFINISHED = re.compile(r"\b(" + "TO" + "DO|" + "FIX" + r"ME)\b")  # split, so that this file passes


class House:
    def __init__(self, root):
        self.root = root
        self.complaints = []
        self.level = self.read_levels()

    def complain(self, path, line, text):
        self.complaints.append((path.relative_to(self.root).as_posix(), line, text))

    def read_levels(self):
        levels = {}
        path = self.root / "lib" / "LAYERS"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            match = re.fullmatch(r"(\w+)\s*:\s*(\d+)", line)
            if not match:
                self.complain(path, number, f"not `room: level`: {line}")
            elif match[1] in levels:
                self.complain(path, number, f"room {match[1]} is listed twice")
            else:
                levels[match[1]] = int(match[2])
        return levels

    def room_of(self, path):
        """The room of a file: the folder's name under lib/, else daemon or testing."""
        parts = path.relative_to(self.root).parts
        if parts[0] == "lib":
            return parts[1] if len(parts) > 2 else None
        return parts[0]

    def files(self, top, suffixes):
        base = self.root / top
        if base.is_file():
            return [base]
        out = []
        for path in sorted(base.rglob("*")):
            inside = path.relative_to(self.root).parts
            if path.is_file() and path.suffix in suffixes and not SKIPPED.intersection(inside):
                out.append(path)
        return out

    def target(self, path, name):
        """(room, header) that an include of `name` in `path` means; None for what is not ours."""
        first = name.split("/")[0]
        if first in ("daemon", "testing"):
            return first, self.root / name
        if first in self.level and "/" in name:
            return first, self.root / "lib" / name
        beside = path.parent / name
        if beside.exists():
            return self.room_of(path), beside
        for top in ("daemon", "testing"):  # e.g. "weftd/app.h" where daemon/ is on the include path
            if (self.root / top / name).exists():
                return top, self.root / top / name
        return None

    def may(self, path, room, other):
        is_test = path.name.endswith("_test.cpp")
        if other == room:
            return True, ""
        if other == "io" and room not in ("io", "daemon", "testing") and not is_test:
            return False, "lib/io is for daemon/ and tests only"
        if other == "testing" and is_test:
            return True, ""
        if self.level[other] < self.level[room] or (other == "io" and is_test):
            return True, ""
        return False, f"{room} is level {self.level[room]}, {other} is level {self.level[other]}"

    def check_includes(self):
        for path in [p for top in ("lib", "daemon", "testing") for p in self.files(top, SOURCES)]:
            room = self.room_of(path)
            if room not in self.level:
                self.complain(path, 1, f"room {room} is not in lib/LAYERS")
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    self.check_include(path, room, number, match[1], match[2])

    def check_include(self, path, room, number, bracket, name):
        if name.startswith("/") or ".." in name.split("/"):
            return self.complain(path, number, f"include {name}: write room/file.h, without ..")
        target = self.target(path, name)
        if target is None:
            if bracket == '"':
                self.complain(path, number, f"include {name}: no such file in this repository")
            return
        other, header = target
        if bracket == "<":
            if header.exists():
                self.complain(path, number, f"include <{name}>: our own headers are quoted")
            return
        if not header.exists():
            return self.complain(path, number, f"include {name}: no such file in this repository")
        allowed, why = self.may(path, room, other)
        if not allowed:
            self.complain(path, number, f"{room} may not include {name}: {why}")

    def check_dependencies(self):
        for path in self.files("lib", {".txt"}):
            if path.name != "CMakeLists.txt":
                continue
            text = path.read_text()
            for match in DEPENDENCIES.finditer(text):
                room, arguments = match[1], match[2].split()
                number = text.count("\n", 0, match.start()) + 1
                if "DEPS" not in arguments or room not in self.level:
                    continue
                for word in arguments[arguments.index("DEPS") + 1:]:
                    if word == "LIBS":
                        break
                    if self.level.get(word, 99) >= self.level[room]:
                        self.complain(path, number, f"{room} may not depend on {word} (lib/LAYERS)")

    def check_readmes(self):
        for top in ("lib", "daemon", "testing"):
            base = self.root / top
            if not base.is_dir():
                continue
            for room in sorted(p for p in base.iterdir() if p.is_dir() and p.name not in SKIPPED):
                readme = room / "README.md"
                if readme.exists():
                    lines = len(readme.read_text().splitlines())
                    if lines > README_LINES:
                        self.complain(readme, README_LINES + 1, f"{lines} lines; a room's README has at most "
                                      f"{README_LINES}")
                elif self.files(room.relative_to(self.root), TEXTS - {""}):
                    self.complain(readme, 1, f"missing: say in at most {README_LINES} lines what may live here")

    def check_unfinished(self):
        for top in sorted(p.name for p in self.root.iterdir() if not p.name.startswith("build")):
            if top in SKIPPED:
                continue
            for path in self.files(top, TEXTS):
                try:
                    lines = path.read_text().splitlines()
                except UnicodeDecodeError:
                    continue
                for number, line in enumerate(lines, 1):
                    match = UNFINISHED.search(line)
                    if match:
                        self.complain(path, number, f"{match[1]}: finish it, or say in words what is not done and why")


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    if not (root / "lib" / "LAYERS").is_file():
        sys.exit(f"{root}: no lib/LAYERS here")
    house = House(root)
    house.check_includes()
    house.check_dependencies()
    house.check_readmes()
    house.check_unfinished()
    for path, line, text in sorted(house.complaints):
        print(f"{path}:{line}: {text}")
    if house.complaints:
        sys.exit(1)
    print(f"check-layers: {len(house.level)} rooms in order")


if __name__ == "__main__":
    main()
