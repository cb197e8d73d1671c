"""The nouns as plain data, and the rules that need nothing else: no I/O, no engine.

name → duration → types → definition → expression → query → resolve → request
"""
