"""Reports: one self-contained HTML page of a run, a sweep, a training or a comparison.

`page` is the model of a page, `charts` makes its pictures, `render` writes it. `builder` finds what an id names and
picks the shape, one module of `shapes` each.
"""
