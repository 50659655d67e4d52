"""Execution witnesses: a block with the trie nodes and codes that prove the state it reads."""
