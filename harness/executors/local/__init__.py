"""The local executor: fork servers, supervisors and job processes on this machine."""
