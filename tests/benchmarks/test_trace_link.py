"""The call path of a link: how many modules of the package one text goes through."""

import pytest

from benchmarks.trace_link import trace

MODULES = 45


def test_a_link_touches_few_modules():
    modules, _ = trace()
    assert {"linking.linker", "linking.pipeline"} <= set(modules)
    if len(modules) > MODULES:
        pytest.xfail(f"{len(modules)} modules, more than {MODULES}")
