"""The gates of `mayavi validate`, one file each."""
