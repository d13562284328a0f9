"""Save and load models: files that are written completely or not at all, and that never run code."""

from mercer.persist.files import load as load
from mercer.persist.files import load_with_notes as load_with_notes
from mercer.persist.files import save as save
from mercer.writing import write_whole as write_whole
