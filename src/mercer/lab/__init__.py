"""`mercer lab`: a local page for teaching, and for trying a kernel before using it.

    state, address        what is on the page, as a plain value, and as a link
    samples               points to start from
    pictures              what a picture is: plain arrays
    kernels               the kernel of a page: reading, sliders, blocks, proof
    fits, planes, words   state -> picture, one function per algorithm
    views                 state -> the picture beside it
    python_code           state -> a program that makes the same picture
    tour                  one page per lecture
    editing               what a person does to a state
    page, controls, drawing, wording, styles, opening, server    the Bokeh document and what serves it

Everything above the last line knows no Bokeh and is tested without it.
"""
