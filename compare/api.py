"""What the command line and a notebook need of this package."""

from compare.comparison import Comparison, compare, default_folders
from compare.outputs import write_outputs
from compare.query import QueryError, query
from compare.writers import render_terminal

__all__ = ["Comparison", "QueryError", "compare", "default_folders", "query", "render_terminal", "write_outputs"]
