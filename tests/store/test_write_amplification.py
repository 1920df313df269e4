"""Write amplification: one definition, of a record and of each interval of its series."""

from mileage.model.write_amplification import write_amplification, write_amplifications


def test_it_is_bytes_over_bytes() -> None:
    assert write_amplification({"host_bytes_written": 1024, "flash_bytes_programmed": 8192}) == 8
    assert write_amplification({"host_bytes_written": 8192, "flash_bytes_programmed": 0}) == 0


def test_without_writes_or_without_counters_there_is_none() -> None:
    assert write_amplification({"host_bytes_written": 0, "flash_bytes_programmed": 8192}) is None
    assert write_amplification({"host_pages_written": 5, "flash_pages_programmed": 5}) is None
    assert write_amplifications({"host_pages_written": [5], "flash_pages_programmed": [5]}) is None


def test_each_interval_has_its_own() -> None:
    series = {"host_bytes_written": [100, 100, 300], "flash_bytes_programmed": [100, 150, 1150]}
    assert write_amplifications(series) == [1, None, 5]


def test_a_disk_has_one_too() -> None:
    assert write_amplification({"host_bytes_written": 1024, "media_bytes_written": 3072}) == 3
    series = {"host_bytes_written": [100, 300], "media_bytes_written": [100, 1100]}
    assert write_amplifications(series) == [1, 5]
