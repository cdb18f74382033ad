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
    "_pyrepl", "bdb", "cProfile", "curses", "dbm", "doctest", "ensurepip", "ftplib", "http", "idlelib",
    "imaplib", "mailbox", "multiprocessing", "pdb", "pickletools", "plistlib", "poplib", "profile",
    "pstats", "pydoc", "pydoc_data", "smtplib", "sqlite3", "test", "tkinter", "trace", "turtle", "unittest",
    "venv", "wsgiref", "xml", "xmlrpc",
}
DATE = (2020, 1, 1, 0, 0, 0)

def compiled(source, name):
    code = compile(source, name, "exec", dont_inherit=True, optimize=2)
    return bytes(outside._code_to_hash_pyc(code, b"\\0" * 8, False))

def rewrite(old, new, method):
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", method) as target:
        for name in sorted(source.namelist()):
            if name.endswith("/") or name.partition("/")[0].removesuffix(".py") in LEFT_OUT:
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
