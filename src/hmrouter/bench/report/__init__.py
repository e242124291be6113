"""The report of a run: `Page` in, one self-contained HTML page, Markdown tables and figures out.

parts.py       tables, figures and intervals, as experiments make them
page.py        what a report holds
cells.py       numbers as text, and which of them are the best
styles.py      one colour, line and marker per method, the same in every figure
figures.py     a `Figure` -> SVG or PNG; charts.py, bars.py and heatmap.py draw the kinds, labels.py names points
html.py        the page (report.css, report.js)
markdown.py    the tables
index.py       one line per experiment, for one report or several
write.py       OUT/report.html, OUT/table.md, OUT/figures/
"""
