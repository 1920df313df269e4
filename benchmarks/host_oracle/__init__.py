"""The modelled host compared with a real kernel: requests to the block device, counted by both."""
