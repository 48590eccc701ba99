"""Tables and plots of a run, on the terminal, as files, and in docs/performance.md."""
import os
import re
import shutil
import sys

import plots
from products import ROOT
from tables import sections

DOCUMENT = os.path.join(ROOT, "docs", "performance.md")
PICTURES = os.path.join(ROOT, "docs", "performance")


def write(store, folder, docs):
    parts = sections(store)
    text = "\n\n".join(body for _, body in parts) + "\n"
    print("\n" + text)
    drawn = plots.draw(store, folder)
    pictures = "\n\n".join(f"![{os.path.splitext(os.path.basename(p))[0]}]({os.path.basename(p)})" for p in drawn)
    with open(os.path.join(folder, "report.md"), "w") as f:
        f.write(text + ("\n" + pictures + "\n" if drawn else ""))
    print(f"{store.path}, {os.path.join(folder, 'report.md')}, {len(drawn)} plots" +
          ("" if plots.possible() else " (gnuplot is not installed: scripts/setup --bench)"))
    if docs:
        into_document(parts, drawn)


def into_document(parts, drawn):
    """Between <!-- bench: NAME --> and <!-- end -->; what lies between is replaced."""
    with open(DOCUMENT) as f:
        document = f.read()
    os.makedirs(PICTURES, exist_ok=True)
    for p in drawn:
        shutil.copy(p, PICTURES)
    plots_text = "\n\n".join(f"![{os.path.splitext(os.path.basename(p))[0]}](performance/{os.path.basename(p)})" for p in drawn)
    for name, body in [*parts, ("plots", plots_text)]:
        mark = f"<!-- bench: {name} -->"
        if mark not in document:
            sys.exit(f"bench: {DOCUMENT} has no place for {name} ({mark})")
        document = re.sub(re.escape(mark) + r".*?<!-- end -->", lambda _: f"{mark}\n\n{body}\n\n<!-- end -->", document, flags=re.S)
    with open(DOCUMENT, "w") as f:
        f.write(document)
    print(f"{DOCUMENT} and {len(drawn)} plots beside it were renewed")
