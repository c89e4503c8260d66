"""Source documents: folders of studies that reproduce a publication, and their scorecards.

`shipped.py` and `sources.py` find source documents, `variants.py` and `seeds.py` make the studies
of controls and sensitivities, `preparation.py` lists what will run and how long it takes, and
`reproduce.py` runs it. `reproduction.py` contains the results, with a row (`row.py`) for each
conclusion: its verdict, its control, and whether other seeds give the same verdict. `scorecard.py`
writes them as text, and `page.py` as HTML.
"""

from netwarp.sources.shipped import SOURCE_FILE
from netwarp.sources.sources import SourceFile, find_sources, load_source, load_sources
