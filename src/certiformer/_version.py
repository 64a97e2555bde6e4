__makes_numbers__ = False
__version__ = "0.1.0"
