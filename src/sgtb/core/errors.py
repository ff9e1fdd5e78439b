"""Errors that sgtb raises deliberately; their messages name the remedy."""


class SgtbError(Exception):
    """Base of all errors of sgtb."""


class ProblemsError(SgtbError, ValueError):
    """Inconsistent documents; the message names document and mention."""


class SettingsError(SgtbError, ValueError):
    """A setting out of range, or unknown."""


class NotFittedError(SgtbError, ValueError, AttributeError):
    """A model was used before `fit` or `load`."""


class ModelFileError(SgtbError, ValueError):
    """A model, checkpoint or problems file that is damaged, of another kind or version."""


class CorpusError(SgtbError, ValueError):
    """An unreadable corpus file; names file, line and value."""


class DumpError(SgtbError, ValueError):
    """An unreadable Wikipedia dump; names file and line."""


class KnowledgeBaseError(SgtbError, ValueError):
    """A knowledge base, or a list to build one from, that is damaged or of another kind."""


class RequestError(SgtbError, ValueError):
    """A text or span that cannot be linked; names the value and the limit."""


class MissingExtraError(SgtbError, ImportError):
    """A package is not installed; names the extra that contains it."""
