"""The loop device and the file system on it that the targets' tests use."""

from tests.targets.conftest import loop_device, small_ext4

__all__ = ["loop_device", "small_ext4"]
