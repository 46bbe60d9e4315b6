"""serveright: derive, check and explain how to serve a language model with vLLM or SGLang.

The public door is `serveright.api`; everything else is arranged by the six steps it runs.
"""

__version__ = "0.1.0"
