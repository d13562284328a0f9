"""Load mercer the normal way before pytest collects doctests from single files of it.

Some names are both a function and a package (``mercer.gram``). Collecting a module of the package first would bind the
package over the function, and the doctests would see something no user ever sees.
"""

import mercer  # noqa: F401
