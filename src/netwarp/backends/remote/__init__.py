"""Runs between two hosts over a network that is there: the client's half and the server's."""
