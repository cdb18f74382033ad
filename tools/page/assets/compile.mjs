// Compile packages and the standard library by the very Python that runs them in the page.
// Usage: node compile.mjs PYODIDE SOURCES.zip FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, sources, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.FS.writeFile("/tmp/sources.zip", readFileSync(sources));
python.FS.writeFile("/tmp/library.zip", readFileSync(`${pyodide}/python_stdlib.zip`));
python.runPython(`
import importlib._bootstrap_external as outside
import sys, zipfile

# parts of the standard library that nothing in the page imports
LEFT_OUT = {
    "_pyio", "_pyrepl", "bdb", "cProfile", "cmd", "colorsys", "curses", "dbm", "doctest", "ensurepip", "filecmp", "fileinput", "fractions",
    "ftplib", "http", "idlelib", "imaplib", "mailbox", "modulefinder", "multiprocessing", "netrc", "optparse", "pdb",
    "pickletools", "plistlib", "poplib", "profile", "pstats", "pty", "pyclbr", "pydoc", "pydoc_data", "sched", "shelve",
    "smtplib", "socketserver", "sqlite3", "statistics", "symtable", "tabnanny", "test", "timeit", "tkinter", "trace",
    "turtle", "unittest", "venv", "wave", "wsgiref", "xml", "xmlrpc", "zipapp",
}
WINDOWS = {f"asyncio/{name}.py" for name in ("__main__", "proactor_events", "windows_events", "windows_utils")}

def is_old_table(name):
    """Say whether this is a code page of one byte: texts come from the browser, as Unicode."""
    part = name.removeprefix("encodings/")
    kept = ("cp437", "cp932", "cp949", "cp950", "cp1252", "iso8859_1.")  # zip files name theirs in cp437
    said = ("cp", "hp_", "iso8859_", "koi8_", "kz1048", "mac_", "palmos", "ptcp154", "tis_620")
    return part != name and part.startswith(said) and not part.startswith(kept)

def is_left_out(name):
    return name.partition("/")[0].removesuffix(".py") in LEFT_OUT or name in WINDOWS or is_old_table(name)

DATE = (2020, 1, 1, 0, 0, 0)

def without_lines(code):
    """Return the code without its table of line numbers, a fifth of the page. Tracebacks name functions alone."""
    consts = tuple(without_lines(each) if isinstance(each, type(code)) else each for each in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=consts)

def compiled(source, name):
    code = without_lines(compile(source, name, "exec", dont_inherit=True, optimize=2))
    return bytes(outside._code_to_hash_pyc(code, b"\\0" * 8, False))

def rewrite(old, new, method):
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", method) as target:
        for name in sorted(source.namelist()):
            if name.endswith("/") or is_left_out(name):
                continue
            data = source.read(name)
            if name.endswith(".py"):
                try:
                    data, name = compiled(data, name), name + "c"
                except SyntaxError:  # a template
                    pass
            target.writestr(zipfile.ZipInfo(name, DATE), data, method)

rewrite("/tmp/sources.zip", "/tmp/packages.zip", zipfile.ZIP_STORED)
rewrite("/tmp/library.zip", "/tmp/stdlib.zip", zipfile.ZIP_STORED)
`);
for (const name of ["packages.zip", "stdlib.zip"]) {
  writeFileSync(`${folder}/${name}`, python.FS.readFile(`/tmp/${name}`));
}
process.exit(0);
