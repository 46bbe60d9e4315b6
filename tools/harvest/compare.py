"""placeholder"""


def report(a, b):
    return 0
