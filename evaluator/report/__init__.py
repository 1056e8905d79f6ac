"""The report: what a campaign found, in one file that needs no network."""

from evaluator.report.page import render, write_report

__all__ = ["render", "write_report"]
