"""How far two worlds agree on an experiment: as JSON, as a table in the terminal, and as a page.

Read first: `model.load` (every difference and its summary), `terminal.show`, `page.render`.
"""
