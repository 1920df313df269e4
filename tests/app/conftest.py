"""The small studies of the tests of execution serve here too."""

from tests.execute.conftest import finished, small

__all__ = ["finished", "small"]
