"""What can go wrong in a datacentre, by name."""

# kind -> what it is. Texts, retries and what stays behind are in {aws,google}/data/faults.json, with their sources.
KINDS = {
    "throttling": "calls are refused for their rate; the provider asks again, and gives up in the end",
    "5xx": "calls are answered `service unavailable`; without --times: that API is down",
    "insufficient-capacity": "machines do not start, after minutes: AWS InsufficientInstanceCapacity, GKE GCE_STOCKOUT",
    "stockout": "the same by Google's name",
    "quota": "machines do not start for lack of quota: AWS VcpuLimitExceeded, Google QUOTA_EXCEEDED",
    "timeout-after-create": "the thing is made, the answer is lost",
    "stale-read": "what was just made is not found by reads for --seconds (60)",
    "stuck": "the pool ends unhealthy: EKS CREATE_FAILED or DEGRADED, GKE ERROR; its nodes never join",
    "hang": "the pool stays in creation for ever; the provider's timeout ends the wait",
    "failed": "Cloud TPU: the queued resource becomes FAILED when its turn comes",
    "suspended": "Cloud TPU: the service takes the slice away: SUSPENDED",
    "preempted": "Cloud TPU: the spot slice is preempted, and its queued resource SUSPENDED",
    "apiserver-restart": "the cluster's real API server goes away for --seconds (0) real seconds, then comes back",
    "disk-full": "the clusters' real etcd refuses writes (NOSPACE alarm) until the fault is cleared",
}
CAPACITY = ("insufficient-capacity", "stockout")
QUEUED = ("suspended", "preempted")  # strike what runs already
AT_ONCE = ("apiserver-restart", "disk-full")
