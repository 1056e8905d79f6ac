"""The report: what a campaign found, in one file that needs no network."""

from evaluator.report.page import redraw_report, render, write_report
from evaluator.report.standalone import write_figures

__all__ = ["redraw_report", "render", "write_figures", "write_report"]
