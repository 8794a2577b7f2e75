"""For what runs on a device: room that is asked for, and sums in a fixed order."""
