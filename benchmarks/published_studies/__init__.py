"""Built-in studies next to what their sources printed."""
