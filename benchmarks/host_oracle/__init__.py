"""The modelled host beside a real kernel: requests to the block device, counted by both."""
