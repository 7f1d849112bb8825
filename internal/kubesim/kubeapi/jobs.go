package kubeapi

import "time"

// jobs runs pods until enough of them have succeeded, or too many failed.
func jobs(c *Cluster) error {
	all, err := c.objects(jobKind)
	if err != nil {
		return err
	}
	for _, j := range all {
		if at(j, "spec", "template", "spec") == nil || at(j, "metadata", "deletionTimestamp") != nil {
			continue
		}
		switch {
		case hasCondition(j, "Complete") || hasCondition(j, "Failed"):
			err = expire(c, j)
		case at(j, "spec", "suspend") == true:
			err = suspend(c, j)
		default:
			err = job(c, j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expire deletes a finished Job after the time that it has.
func expire(c *Cluster, j Object) error {
	seconds, limited := numberAt(j, "spec", "ttlSecondsAfterFinished")
	if !limited {
		return nil
	}
	for _, done := range list(j, "status", "conditions") {
		if kind := Text(done, "type"); kind != "Complete" && kind != "Failed" {
			continue
		}
		ended, err := time.Parse(time.RFC3339, Text(done, "lastTransitionTime"))
		if err != nil {
			return err
		}
		if until := ended.Add(time.Duration(seconds) * time.Second); time.Now().Before(until) {
			c.dueAt(until)
			return nil
		}
	}
	return c.end(jobKind, clone(j), "Foreground")
}

// suspend ends the pods of a Job, which begins again when it continues.
func suspend(c *Cluster, j Object) error {
	pods, err := c.controlled(podKind, j)
	if err != nil {
		return err
	}
	for _, p := range active(pods) {
		if err := c.endPod(clone(p), nil); err != nil {
			return err
		}
	}
	return c.setStatus(jobKind, j, Object{"conditions": []any{condition(j, "Suspended", "True", "JobSuspended", "Job suspended")}, "ready": 0, "terminating": 0, "uncountedTerminatedPods": Object{}})
}

func job(c *Cluster, j Object) error {
	pods, err := c.controlled(podKind, j)
	if err != nil {
		return err
	}
	running, succeeded, failed := active(pods), 0, 0
	for _, p := range pods {
		switch Text(p, "status", "phase") {
		case "Succeeded":
			succeeded++
		case "Failed":
			failed++
		}
	}
	completions, bounded := numberAt(j, "spec", "completions")
	if !bounded {
		completions = 1
	}
	started := Text(j, "status", "startTime")
	if started == "" {
		started = now()
	}
	status := Object{"startTime": started}
	var conditions []any
	switch {
	case succeeded >= completions:
		status["completionTime"] = now()
		conditions = []any{condition(j, "SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods"),
			condition(j, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods")}
	case failed > numberOr(6, j, "spec", "backoffLimit") || crashes(running) > numberOr(6, j, "spec", "backoffLimit"):
		conditions = failure(j, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
	case overdue(c, j, started):
		conditions = failure(j, "DeadlineExceeded", "Job was active longer than specified deadline")
	default:
		for i := len(running); i < min(numberOr(1, j, "spec", "parallelism"), completions-succeeded); i++ {
			if refused, err := c.makePod(j, generated(Text(j, "metadata", "name")+"-"), nil); err != nil || refused != "" {
				return err
			}
		}
		if running, err = c.controlled(podKind, j); err != nil {
			return err
		}
		running = active(running)
	}
	return jobStatus(c, j, status, conditions, running, succeeded, failed)
}

func failure(j Object, reason, message string) []any {
	return []any{condition(j, "FailureTarget", "True", reason, message), condition(j, "Failed", "True", reason, message)}
}

// crashes are the restarts of pods that are restarted where they are.
func crashes(pods []Object) (n int) {
	for _, p := range pods {
		if Text(p, "spec", "restartPolicy") == "OnFailure" {
			for _, s := range list(p, "status", "containerStatuses") {
				n += numberOr(0, s, "restartCount")
			}
		}
	}
	return n
}

func overdue(c *Cluster, j Object, started string) bool {
	seconds, limited := numberAt(j, "spec", "activeDeadlineSeconds")
	since, err := time.Parse(time.RFC3339, started)
	if !limited || err != nil {
		return false
	}
	deadline := since.Add(time.Duration(seconds) * time.Second)
	if time.Now().Before(deadline) {
		c.dueAt(deadline)
		return false
	}
	return true
}

func jobStatus(c *Cluster, j, status Object, conditions []any, running []Object, succeeded, failed int) error {
	over := len(conditions) > 0
	if over {
		for _, p := range running {
			if err := c.endPod(clone(p), nil); err != nil {
				return err
			}
		}
		running = nil
		status["conditions"] = conditions
		reason, kind := Text(conditions[len(conditions)-1], "reason"), "Warning"
		if Text(conditions[len(conditions)-1], "type") == "Complete" {
			reason, kind = "Completed", "Normal"
		}
		if err := c.event(j, kind, reason, "job-controller", "%s", Text(conditions[len(conditions)-1], "message")); err != nil {
			return err
		}
	}
	for name, n := range map[string]int{"active": len(running), "succeeded": succeeded, "failed": failed} {
		if n > 0 {
			status[name] = n
		}
	}
	status["ready"], status["terminating"], status["uncountedTerminatedPods"] = readyOf(running), 0, Object{}
	return c.setStatus(jobKind, j, status)
}
