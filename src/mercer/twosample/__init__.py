"""Two-sample tests: are two data sets different, where, and how sure are we?"""
