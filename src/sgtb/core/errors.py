"""The errors sgtb raises on purpose: a small family whose messages say what to do next."""


class SgtbError(Exception):
    """The base of every error sgtb raises on purpose."""


class ProblemsError(SgtbError, ValueError):
    """Documents that do not hold together; the message names document and mention."""


class SettingsError(SgtbError, ValueError):
    """A setting out of its range, or one that does not exist."""


class NotFittedError(SgtbError, ValueError, AttributeError):
    """A model was asked for an answer before `fit` or `load`."""


class ModelFileError(SgtbError, ValueError):
    """A model, checkpoint or problems file that is damaged, foreign or from another version."""


class CorpusError(SgtbError, ValueError):
    """A corpus file that cannot be read as what it should be; names file, line and value."""


class DumpError(SgtbError, ValueError):
    """A Wikipedia dump that cannot be read as one; names file and line."""


class KnowledgeBaseError(SgtbError, ValueError):
    """A knowledge base, or a list to build one from, that is damaged, foreign or does not fit."""


class RequestError(SgtbError, ValueError):
    """A text or a span that cannot be linked; names the value and the limit."""


class MissingExtraError(SgtbError, ImportError):
    """A part of sgtb needs a package that is not installed; names the extra that brings it."""
