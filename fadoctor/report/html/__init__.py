"""The page: one file that shows a report in a browser, without network and without a framework."""
