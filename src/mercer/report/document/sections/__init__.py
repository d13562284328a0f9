"""The sections of a report, one file each: a function of the material that returns a Section, or None."""
