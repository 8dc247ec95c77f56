"""Training jobs: a template and a pool in, Kubernetes objects out."""

from accelerator_fleet.jobs.gang import is_gang, jobset
from accelerator_fleet.jobs.manifest import Wish, further, job_plan, objects
from accelerator_fleet.jobs.pods import JobPlan
from accelerator_fleet.jobs.templates import Template, load

__all__ = ["JobPlan", "Template", "Wish", "further", "is_gang", "job_plan", "jobset", "load", "objects"]
