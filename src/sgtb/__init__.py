"""sgtb: collective entity disambiguation by structured gradient tree boosting."""

from sgtb.learn import Problems, SearchPlan, StructuredGradientBoosting

__all__ = ["Problems", "SearchPlan", "StructuredGradientBoosting", "__version__"]
__version__ = "0.1.0"
