"""The CKY search on the device.

    kernel    the chart: cells filled level by level        rows      hypotheses as rows of integers
    joining   pieces of target text put side by side        compiled  target sides as rows, kept by mixture
    selection the best of many candidates, and of equal ones
"""
