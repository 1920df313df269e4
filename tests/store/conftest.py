"""The small studies of the tests of execution serve here too."""

from tests.execute.conftest import finished

__all__ = ["finished"]
