"""Tools that several papers use; their ids have no paper (`dudley`, `binomial`)."""

from certiformer.theory.core import Paper

TOOLBOX = Paper("toolbox", "The certiformer authors", "The toolbox of proved inequalities", 2026)
