"""`mercer lab`: a local page for teaching, and for trying a kernel before using it.

    state, address        the content of the page, as a plain value, and as a link
    samples               points to start from
    kernels               the kernel of a page: reading, sliders, blocks, proof
    pictures              state -> main picture as plain arrays, one function per algorithm
    views                 state -> side view
    labels                places of words beside their points
    python_code           state -> a program that draws the same picture
    tour                  one page per lecture
    handouts              controls and states of the tour's pages without a server
    editing               changes of a state by the user
    page, controls, drawing, styles, server    the Bokeh document and its server
    static_export         the tour as files, for a class

Modules above the last two lines do not import Bokeh and are tested without it.
"""
