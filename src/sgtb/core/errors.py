"""Errors that sgtb raises deliberately; their messages name the remedy."""

from importlib import import_module
from typing import Any


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


class DownloadError(SgtbError):
    """A file that a server does not have, cannot send, or that differs from its checksum."""


class KnowledgeBaseError(SgtbError, ValueError):
    """A knowledge base, or a list to build one from, that is damaged or of another kind."""


class EntityListError(KnowledgeBaseError):
    """All errors of a list of entities; `args` are the lines of the message."""

    def __str__(self) -> str:
        return "\n".join(self.args)


class RequestError(SgtbError, ValueError):
    """A text or span that cannot be linked; names the value and the limit."""


class JobError(SgtbError, ValueError):
    """A job folder of another job, an input that changed, or a part that cannot be finished."""


class MainGuardError(SgtbError, RuntimeError):
    """A script starts worker processes while they import it; names the missing guard."""


class MissingExtraError(SgtbError, ImportError):
    """A package is not installed; names the extra that contains it."""


def import_extra(package: str, extra: str, use: str) -> Any:
    """Import a package of an extra; `use` begins the error if it is not installed."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f"{use} the package {error.name or package}: pip install 'sgtb[{extra}]'"
        ) from None
