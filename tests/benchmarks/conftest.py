"""The harness is no part of the package: it is imported from the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
