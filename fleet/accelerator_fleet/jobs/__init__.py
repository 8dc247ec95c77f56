"""Training jobs: a template and a pool in, Kubernetes objects out."""

from accelerator_fleet.jobs.manifest import JobPlan, job_plan, objects
from accelerator_fleet.jobs.templates import Template, load

__all__ = ["JobPlan", "Template", "job_plan", "load", "objects"]
