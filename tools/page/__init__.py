"""The page in the browser: fadoctor's own wheel under Pyodide, in files that any server serves."""
