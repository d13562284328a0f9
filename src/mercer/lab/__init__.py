"""`mercer lab`: a local page for teaching, and for trying a kernel before using it.

    state, address        the content of the page, as a plain value, and as a link
    samples               points to start from
    kernels               the kernel of a page: reading, sliders, blocks, proof
    pictures              state -> main picture as plain arrays, one function per algorithm
    views                 state -> side view
    python_code           state -> a program that draws the same picture
    tour                  one page per lecture
    editing               changes of a state by the user
    page, controls, drawing, styles, server    the Bokeh document and its server

Modules above the last line do not import Bokeh and are tested without it.
"""
