"""Source documents: folders of studies that reproduce a publication, and their scorecards.

`shipped.py` and `sources.py` find them, `variants.py` and `seeds.py` make the studies of controls
and sensitivities, `preparation.py` says what will run, for how long, and `reproduce.py` runs it.
`reproduction.py` is made of `row.py` (a conclusion: its word, control, stability); `scorecard.py`
tells it in words, `page.py` as HTML.
"""

from netwarp.sources.shipped import SOURCE_FILE
from netwarp.sources.sources import SourceFile, find_sources, load_source, load_sources
