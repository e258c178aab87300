"""Reports: what was found, as figures and pages."""
