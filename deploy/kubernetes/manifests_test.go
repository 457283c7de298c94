// Package kubernetes has manifests that run campaigns on Kubernetes. It is a module of its own,
// because only its test needs the types of the Kubernetes API.
package kubernetes

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// documents returns the documents of a YAML file.
func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

// read decodes a document into a type of the API and rejects fields that the type does not have.
func read(t *testing.T, document []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Fatal(err)
	}
}

// container checks what both Jobs have in common, and returns the Job's only container.
func container(t *testing.T, job batch.Job) core.Container {
	t.Helper()
	pod := job.Spec.Template.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || len(pod.Containers) != 1 || pod.RestartPolicy != core.RestartPolicyNever {
		t.Fatalf("%s %s with %d containers, restart policy %s", job.APIVersion, job.Kind, len(pod.Containers), pod.RestartPolicy)
	}
	c := pod.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("%s may do more than it needs", job.Name)
	}
	for _, m := range c.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
			t.Errorf("%s mounts %s, which is no volume", job.Name, m.Name)
		}
	}
	return c
}

// argument returns the argument that follows a flag.
func argument(t *testing.T, c core.Container, flag string) string {
	t.Helper()
	i := slices.Index(c.Args, flag)
	if i < 0 || i+1 == len(c.Args) {
		t.Fatalf("%q: no %s", c.Args, flag)
	}
	return c.Args[i+1]
}

func TestTheManifestsBelongTogether(t *testing.T) {
	parts := documents(t, "campaign.yaml")
	if len(parts) != 2 {
		t.Fatalf("%d documents, want a claim and a job", len(parts))
	}
	var claim core.PersistentVolumeClaim
	var campaign, merge batch.Job
	read(t, parts[0], &claim)
	read(t, parts[1], &campaign)
	read(t, documents(t, "merge.yaml")[0], &merge)

	c, m := container(t, campaign), container(t, merge)
	if *campaign.Spec.CompletionMode != batch.IndexedCompletion {
		t.Error("the campaign's job is not indexed: nothing tells its Pods which shard they are")
	}
	if shards := argument(t, c, "--shards"); shards != strconv.Itoa(int(*campaign.Spec.Completions)) {
		t.Errorf("--shards %s, but %d completions", shards, *campaign.Spec.Completions)
	}
	if name := campaign.Spec.PodFailurePolicy.Rules[0].OnExitCodes.ContainerName; *name != c.Name {
		t.Errorf("the failure policy looks at %s, not at %s", *name, c.Name)
	}
	if store, merged := argument(t, c, "--store"), m.Args[len(m.Args)-1]; store != merged {
		t.Errorf("the shards go to %s, and %s is merged", store, merged)
	}
	if c.Image != m.Image {
		t.Errorf("images %s and %s", c.Image, m.Image)
	}
	for _, job := range []batch.Job{campaign, merge} {
		if got := job.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName; got != claim.Name {
			t.Errorf("%s has the claim %s, not %s", job.Name, got, claim.Name)
		}
	}
}
