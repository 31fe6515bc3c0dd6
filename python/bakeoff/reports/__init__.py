"""Reports: the same numbers as a page, as a table in the terminal, and as JSON.

Read first: `model.load` (everything a report shows), `html.render`, `terminal.show`, `compare.compare`.
"""
