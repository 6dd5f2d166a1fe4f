"""Doors for people besides the web page. `text`: an answer typed as a plain message."""
