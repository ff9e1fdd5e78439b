"""The call path of a link: how many modules of the package one text goes through."""

from benchmarks.trace_link import trace

MODULES = 45
"""The number may shrink, and must not grow."""


def test_a_link_touches_few_modules():
    modules, _ = trace()
    assert {"linking.linker", "linking.pipeline"} <= set(modules)
    assert len(modules) <= MODULES
